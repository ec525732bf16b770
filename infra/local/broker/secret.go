package broker

import (
	"context"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go/jetstream"
)

// secrets counts, for each stored event that holds a secret, the Triggers that are done
// with it. If a crash loses a count, the event stays until MaxAge.
type secrets struct {
	mu      sync.Mutex
	through map[uint64]int
}

// forget erases an event that holds a secret once all Triggers are done with it.
func (d *delivery) forget(m jetstream.Msg, e event.Event) {
	if _, secret := d.o.Redact(e); !secret {
		return
	}
	md, err := m.Metadata()
	if err != nil || !d.last(md.Sequence.Stream) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.running), ackTimeout)
	defer cancel()
	if err := d.events.SecureDeleteMsg(ctx, md.Sequence.Stream); err != nil {
		d.logger(e).Warn("cannot erase an event that holds a secret; it is kept until it expires", "error", err)
	}
}

func (b *Broker) last(seq uint64) bool {
	s := &b.secrets
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.through == nil {
		s.through = map[uint64]int{}
	}
	s.through[seq]++
	if s.through[seq] < len(b.o.Triggers) {
		return false
	}
	delete(s.through, seq)
	return true
}
