package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nodefence/nodefence/shared/run"
)

const (
	eventsStream, eventsSubject = "EVENTS", "events"
	deadStream, deadSubject     = "DEAD", "dead"

	// eventsProbe and deadProbe are the subjects of Probe; no Trigger subscribes to them.
	eventsProbe, deadProbe = "probe.events", "probe.dead"

	// dedupWindow is how long a source and ID are remembered.
	dedupWindow = 2 * time.Minute
	// deadMaxAge and deadMaxBytes bound the dead letters, which wait for a person.
	deadMaxAge   = 7 * 24 * time.Hour
	deadMaxBytes = 64 << 20

	// maxMessage holds the longest body with its attributes: text full of control
	// characters grows sixfold in JSON.
	maxMessage = 7 * run.MaxBody
)

// open starts the server inside this process, without a socket, and makes both
// streams.
func (b *Broker) open(ctx context.Context) (err error) {
	if err := b.startServer(); err != nil {
		return err
	}
	b.conn, err = nats.Connect("", nats.InProcessServer(b.server), nats.Name("nodefence-local"),
		nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ErrorHandler(b.said.async))
	if err != nil {
		return fmt.Errorf("connect to nats server: %w", err)
	}
	if b.js, err = jetstream.New(b.conn); err != nil {
		return fmt.Errorf("open jetstream: %w", err)
	}
	b.events, err = b.stream(ctx, eventsStream, []string{eventsSubject, eventsProbe}, b.o.MaxAge, b.o.MaxBytes)
	if err != nil {
		return err
	}
	b.dead, err = b.stream(ctx, deadStream, []string{deadSubject, deadProbe}, deadMaxAge, deadMaxBytes)
	return err
}

// startServer starts the NATS server in this process, and waits until it takes connections, 10 s at most.
func (b *Broker) startServer() (err error) {
	log := &b.said
	log.log = b.o.Logger
	b.server, err = server.NewServer(&server.Options{
		ServerName:             "nodefence-local",
		DontListen:             true,
		NoSigs:                 true,
		JetStream:              true,
		DisableJetStreamBanner: true,
		StoreDir:               b.o.Dir,
		SyncAlways:             !b.o.NoSync,
		JetStreamMaxMemory:     16 << 20,
		JetStreamMaxStore:      b.o.MaxBytes + deadMaxBytes,
		MaxPayload:             maxMessage,
	})
	if err != nil {
		return fmt.Errorf("make nats server: %w", err)
	}
	b.server.SetLoggerV2(log, false, false, false)
	b.server.Start()
	ready := false
	for end := time.Now().Add(10 * time.Second); !ready && !log.ended() && time.Now().Before(end); {
		ready = b.server.ReadyForConnections(100 * time.Millisecond)
	}
	switch {
	case !ready && log.last() == "":
		return fmt.Errorf("start nats server: not ready in 10 s: %w", context.DeadlineExceeded)
	case !ready || !b.server.JetStreamEnabled():
		return fmt.Errorf("start nats server: %s", log.last())
	}
	return nil
}

// stream makes a stream or opens it. A full stream drops its oldest events: events are
// wake-ups, and the newest one matters most.
func (b *Broker) stream(ctx context.Context, name string, subjects []string, age time.Duration, bytes int64) (jetstream.Stream, error) {
	s, err := b.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:       name,
		Subjects:   subjects,
		Storage:    jetstream.FileStorage,
		Retention:  jetstream.LimitsPolicy,
		Discard:    jetstream.DiscardOld,
		MaxAge:     age,
		MaxBytes:   bytes,
		MaxMsgSize: maxMessage,
		Duplicates: min(dedupWindow, age),
	})
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", name, err)
	}
	return s, nil
}

// consumer opens a Trigger's consumer. A new consumer starts after the last event, by the
// event's number. The option "new only" would be evaluated again after a crash that came
// before the consumer's state was saved, and would skip the events stored meanwhile.
func (b *Broker) consumer(ctx context.Context, t *Trigger) (jetstream.Consumer, error) {
	old, err := b.events.Consumer(ctx, t.durable())
	var cfg jetstream.ConsumerConfig
	switch {
	case err == nil:
		cfg = old.CachedInfo().Config
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		info, err := b.events.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at stream: %w", err)
		}
		cfg = jetstream.ConsumerConfig{
			Durable:       t.durable(),
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:   info.State.LastSeq + 1,
			AckPolicy:     jetstream.AckExplicitPolicy,
		}
	default:
		return nil, fmt.Errorf("look up consumer %s: %w", t.Name, err)
	}
	cfg.FilterSubject = eventsSubject
	cfg.AckWait = b.o.AckWait
	cfg.MaxDeliver = -1 // the delivery counts the Trigger's retries
	cfg.MaxAckPending = 4096
	c, err := b.events.CreateOrUpdateConsumer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open consumer %s: %w", t.Name, err)
	}
	return c, nil
}

// forget removes the consumers of Triggers that no longer exist. Otherwise a consumer would
// deliver a day of old events when its Trigger comes back.
func (b *Broker) forget(ctx context.Context) error {
	known := map[string]bool{}
	for i := range b.o.Triggers {
		known[b.o.Triggers[i].durable()] = true
	}
	var gone []string
	names := b.events.ConsumerNames(ctx)
	for name := range names.Name() {
		if !known[name] {
			gone = append(gone, name)
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("list consumers: %w", err)
	}
	for _, name := range gone {
		b.o.Logger.WarnContext(ctx, "a trigger is gone; its consumer is removed", "trigger", name)
		if err := b.events.DeleteConsumer(ctx, name); err != nil {
			return fmt.Errorf("delete consumer %s: %w", name, err)
		}
	}
	return nil
}

// Ready returns why no event can be taken now.
func (b *Broker) Ready() error {
	if b.pulling.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(b.running, 2*time.Second)
	defer cancel()
	if _, err := b.events.Info(ctx); err != nil {
		return fmt.Errorf("look at stream: %w", err)
	}
	return nil
}
