package broker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// probeTimeout bounds one probe. A server that fails to write sends no answer at all.
const probeTimeout = 3 * time.Second

// Probe stores a message in each stream, reads it back and removes it. Only a write shows a
// broken stream: the server keeps the first write error of a stream for as long as it runs,
// and still answers every question about the stream. No Trigger sees the message.
func (b *Broker) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if b.pulling.Err() != nil {
		return errClosed
	}
	for s, subject := range map[jetstream.Stream]string{b.events: eventsProbe, b.dead: deadProbe} {
		if err := b.roundTrip(ctx, s, subject); err != nil {
			return fmt.Errorf("write to stream %s: %w", s.CachedInfo().Config.Name, err)
		}
	}
	return nil
}

func (b *Broker) roundTrip(ctx context.Context, s jetstream.Stream, subject string) error {
	m := nats.NewMsg(subject)
	m.Data = strconv.AppendInt(nil, time.Now().UnixNano(), 10)
	ack, err := b.js.PublishMsg(ctx, m)
	if err != nil {
		return err
	}
	got, err := s.GetMsg(ctx, ack.Sequence)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if !bytes.Equal(got.Data, m.Data) {
		return fmt.Errorf("read back: message %d is another than was written", ack.Sequence)
	}
	return s.DeleteMsg(ctx, ack.Sequence)
}

// empty removes this broker's streams from a folder.
func empty(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, server.JetStreamStoreDir)); err != nil {
		return fmt.Errorf("empty folder: %w", err)
	}
	return nil
}
