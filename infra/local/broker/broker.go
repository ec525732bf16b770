package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/run"
)

// Options are the choices of Start. Dir, Triggers and Handlers are required.
type Options struct {
	// Dir holds the streams. Only one process at a time may use it.
	Dir      string
	Triggers []Trigger
	// Handlers are by function: "gate" serves the subscriber nodefence-gate.
	Handlers map[string]run.Handler
	// Outward are the handlers of the Triggers whose subscribers are outside of this process, by the Trigger's name.
	Outward map[string]run.Handler
	// Logger is slog's default if nil.
	Logger *slog.Logger
	// OnDeadLetter is called for every event that is given up, after its dead letter is
	// stored. It runs in the delivery's goroutine.
	OnDeadLetter func(e event.Event, trigger string, err error)
	// Metrics, if set, gets the broker's counters.
	Metrics prometheus.Registerer

	// Concurrency is how many events of one Trigger are handled at once; 16 if zero.
	Concurrency int
	// Places is the same for single functions, by name.
	Places map[string]int
	// HandlerTimeout ends a handler's context; one minute if zero.
	HandlerTimeout time.Duration
	// AckWait is how long after a crash an event that was being handled is delivered again;
	// 5 s if zero. A handler that runs longer keeps its event.
	AckWait time.Duration
	// MaxAge and MaxBytes bound the record; 24 hours and 256 MiB if zero.
	MaxAge   time.Duration
	MaxBytes int64
	// Redact removes secrets from an event, and reports whether there were any (S29: no
	// secret is shown). The stored event is erased once every Trigger is done with it; its
	// dead letter and record hold the redacted event.
	Redact func(e event.Event) (redacted event.Event, secret bool)
	// NoSync leaves it to the operating system when a stored event reaches the disk. A
	// power failure may then lose events that Publish has accepted.
	NoSync bool

	// empty removes the contents of the folder before the start.
	empty bool
}

func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnDeadLetter == nil {
		o.OnDeadLetter = func(event.Event, string, error) {}
	}
	if o.Redact == nil {
		o.Redact = func(e event.Event) (event.Event, bool) { return e, false }
	}
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	o.HandlerTimeout = cmp.Or(o.HandlerTimeout, time.Minute)
	o.AckWait = cmp.Or(o.AckWait, 5*time.Second)
	o.MaxAge = cmp.Or(o.MaxAge, 24*time.Hour)
	o.MaxBytes = cmp.Or(o.MaxBytes, 256<<20)
}

// check refuses Triggers that would route to nobody, and two Triggers of one name.
func (o *Options) check() error {
	if len(o.Triggers) == 0 {
		return errors.New("no triggers")
	}
	var found []*problem
	names := map[string]bool{}
	for i := range o.Triggers {
		t := &o.Triggers[i]
		if names[t.durable()] {
			found = append(found, &problem{t.subscriber, "metadata.name", fmt.Sprintf("%q is the name of another Trigger too", t.Name)})
		}
		names[t.durable()] = true
		switch {
		case o.handler(t) != nil:
		case t.URI != "":
			found = append(found, &problem{t.subscriber, "spec.subscriber.uri", "nothing carries events to " + t.URI})
		default:
			found = append(found, &problem{t.subscriber, "spec.subscriber.ref.name",
				fmt.Sprintf("no function %q here, only %s", t.Function,
					strings.Join(slices.Sorted(maps.Keys(o.Handlers)), ", "))})
		}
	}
	if len(found) > 0 {
		return joined(found)
	}
	return nil
}

// handler is what handles the events of a Trigger.
func (o *Options) handler(t *Trigger) run.Handler {
	if t.URI != "" {
		return o.Outward[t.Name]
	}
	return o.Handlers[t.Function]
}

// Broker stores events and delivers them. Start makes one.
type Broker struct {
	o       Options
	metrics *metrics
	unlock  func() error
	server  *server.Server
	said    serverLog
	conn    *nats.Conn
	js      jetstream.JetStream
	events  jetstream.Stream
	dead    jetstream.Stream

	// pulling ends before running does: a drain takes no new event, and lets the running
	// handlers finish.
	pulling, running context.Context
	stopPulling      context.CancelFunc
	interrupt        context.CancelFunc
	workers          sync.WaitGroup
	closing          sync.Once
	closed           chan struct{}
	secrets          secrets
}

// Start opens Dir and delivers. ctx bounds the start alone; Drain or Close ends
// the broker.
func Start(ctx context.Context, o Options) (*Broker, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	b := &Broker{o: o, closed: make(chan struct{})}
	b.running, b.interrupt = context.WithCancel(context.WithoutCancel(ctx))
	b.pulling, b.stopPulling = context.WithCancel(b.running)
	if err := b.start(ctx); err != nil {
		b.interrupt()
		return nil, fmt.Errorf("start broker: %w", errors.Join(b.blame(err), b.shutdown()))
	}
	return b, nil
}

func (b *Broker) start(ctx context.Context) (err error) {
	if err = os.MkdirAll(b.o.Dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if b.unlock, err = lock(b.o.Dir); err != nil {
		return err
	}
	if b.o.empty {
		if err = empty(b.o.Dir); err != nil {
			return err
		}
	}
	if b.metrics, err = newMetrics(b.o.Metrics); err != nil {
		return err
	}
	if err = b.open(ctx); err != nil {
		return err
	}
	// Every consumer must exist before the first event can be stored.
	consumers := make([]jetstream.Consumer, len(b.o.Triggers))
	for i := range b.o.Triggers {
		if consumers[i], err = b.consumer(ctx, &b.o.Triggers[i]); err != nil {
			return err
		}
	}
	if err = b.forget(ctx); err != nil {
		return err
	}
	for i := range b.o.Triggers {
		t := &b.o.Triggers[i]
		d := &delivery{Broker: b, trigger: t, handle: run.Recover(b.o.handler(t)),
			consumer: consumers[i], log: b.o.Logger.With("trigger", t.Name)}
		d.places = make(chan struct{}, cmp.Or(b.o.Places[t.Function], b.o.Concurrency))
		b.workers.Go(d.work)
	}
	return nil
}

// Drain takes no more events, waits for the running handlers and closes the broker. If ctx
// ends first, the handlers are interrupted, and their events are delivered again at the
// next start.
func (b *Broker) Drain(ctx context.Context) error {
	b.stopPulling()
	select {
	case <-b.idle():
		return b.Close()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("drain broker: %w", ctx.Err()), b.Close())
	}
}

// Close interrupts the handlers and closes the broker. It returns once no part of the
// broker runs any more, so handlers must obey their context.
func (b *Broker) Close() error {
	var err error
	b.closing.Do(func() {
		b.interrupt()
		b.workers.Wait()
		err = b.shutdown()
		close(b.closed)
	})
	<-b.closed
	if err != nil {
		return fmt.Errorf("close broker: %w", err)
	}
	return nil
}

// idle is closed when no worker is left.
func (b *Broker) idle() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		b.workers.Wait()
		close(done)
	}()
	return done
}

// shutdown undoes open and lock, as far as they succeeded.
func (b *Broker) shutdown() error {
	if b.conn != nil {
		_ = b.conn.FlushTimeout(time.Second) // acknowledgements that are on their way
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	if b.metrics != nil {
		b.metrics.unregister()
	}
	if b.unlock != nil {
		return b.unlock()
	}
	return nil
}
