package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/run"
)

const (
	// probeEvery is the time between two probes, and how long the answer of one counts.
	probeEvery = 5 * time.Second
	// drainTimeout is longer than a handler may take: a call to a device comes to its
	// end before the broker that asked for it does (S10).
	drainTimeout = 75 * time.Second
	// firstWait and longestWait are between two starts.
	firstWait, longestWait = time.Second, 30 * time.Second
)

// Keeper has a broker at work, and starts another in its place when it takes nothing
// any more: over the same folder, and over an emptied one where that fails.
type Keeper struct {
	o     Options
	every time.Duration
	limit time.Duration // of one probe

	mu     sync.Mutex // guards broker, broken, probed
	broker *Broker
	broken error
	probed time.Time
	asking sync.Mutex // one probe at a time
}

// Keep opens the folder and delivers. Run looks after the broker; Close ends it.
func Keep(ctx context.Context, o Options) (*Keeper, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	k := &Keeper{o: o, every: probeEvery, limit: probeTimeout}
	var err error
	if k.broker, err = k.start(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// start takes the same folder, or empties it: it holds wake-ups, and the truth about
// fences is in the API server.
func (k *Keeper) start(ctx context.Context) (*Broker, error) {
	b, err := k.open(ctx, false)
	if err == nil || errors.Is(err, errNotOurs) || ctx.Err() != nil {
		return b, err
	}
	k.o.Logger.ErrorContext(ctx, "the broker does not start over its folder, the folder is emptied: nothing but wake-ups and dead letters is lost, the NodeFences say what is to be done",
		"folder", k.o.Dir, "error", err.Error())
	b, again := k.open(ctx, true)
	if again != nil {
		return nil, errors.Join(err, fmt.Errorf("over an emptied folder: %w", again))
	}
	return b, nil
}

func (k *Keeper) open(ctx context.Context, emptied bool) (*Broker, error) {
	o := k.o
	o.empty = emptied
	b, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := b.Probe(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("try the broker: %w", err), b.Close())
	}
	return b, nil
}

// Run probes until ctx ends, and puts another broker in the place of one that fails
// twice in a row.
func (k *Keeper) Run(ctx context.Context) {
	failed := 0
	for {
		pause(ctx, k.every)
		if ctx.Err() != nil {
			return
		}
		switch err := k.Health(ctx); {
		case err == nil || ctx.Err() != nil:
			failed = 0
		default:
			k.o.Logger.ErrorContext(ctx, "the broker takes no event", "error", err.Error())
			if failed++; failed > 1 {
				k.replace(ctx, err)
				failed = 0
			}
		}
	}
}

// replace drains the broker, so that no call is outstanding, and starts another until
// that works. The second waker calls the functions meanwhile.
func (k *Keeper) replace(ctx context.Context, cause error) {
	k.mu.Lock()
	old := k.broker
	k.broken = cause
	k.mu.Unlock()
	limit, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := old.Drain(limit); err != nil {
		k.o.Logger.WarnContext(ctx, "the broken broker did not end in good order", "error", err.Error())
	}
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, longestWait) {
		b, err := k.start(ctx)
		k.mu.Lock()
		if k.broken = err; err == nil {
			k.broker, k.probed = b, time.Now()
		}
		k.mu.Unlock()
		if err == nil {
			k.o.Logger.WarnContext(ctx, "another broker is at work")
			return
		}
		k.o.Logger.ErrorContext(ctx, "no broker starts, tried again soon; the second waker calls the functions", "wait", wait.String(), "error", err.Error())
		pause(ctx, wait)
	}
}

// Health is a round trip through the streams, or the answer of one that was made a
// moment ago.
func (k *Keeper) Health(ctx context.Context) error {
	k.asking.Lock()
	defer k.asking.Unlock()
	k.mu.Lock()
	b, broken, fresh := k.broker, k.broken, time.Since(k.probed) < k.every/2
	k.mu.Unlock()
	switch {
	case broken != nil:
		return fmt.Errorf("the broker is started anew: %w", broken)
	case fresh:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.limit)
	defer cancel()
	if err := b.Probe(ctx); err != nil {
		return fmt.Errorf("the broker takes no event: %w", err)
	}
	k.mu.Lock()
	k.probed = time.Now()
	k.mu.Unlock()
	return nil
}

func (k *Keeper) now() *Broker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broker
}

// Publish, Ready, Idle, Events and DeadLetters are those of the broker at work.
func (k *Keeper) Publish(ctx context.Context, e event.Event) error { return k.now().Publish(ctx, e) }

// Ready says why events can't be taken now.
func (k *Keeper) Ready() error { return k.now().Ready() }

// Idle tells whether every event that is stored has been handled or given up.
func (k *Keeper) Idle(ctx context.Context) (bool, error) { return k.now().Idle(ctx) }

// Events gives back what went through, as far as it is kept.
func (k *Keeper) Events(ctx context.Context) ([]event.Event, error) { return k.now().Events(ctx) }

// DeadLetters gives back what was given up, as far as it is kept.
func (k *Keeper) DeadLetters(ctx context.Context) ([]DeadLetter, error) {
	return k.now().DeadLetters(ctx)
}

// Ingress takes events by HTTP at POST / and answers 202 once one is stored.
func (k *Keeper) Ingress(log *slog.Logger) http.Handler { return ingress(k.Publish, log) }

// Close ends the broker. Run must have ended.
func (k *Keeper) Close() error { return k.now().Close() }

// ingress answers for whatever stores an event.
func ingress(publish func(context.Context, event.Event) error, log *slog.Logger) http.Handler {
	return run.HTTP(func(ctx context.Context, e event.Event) (*event.Event, error) {
		return nil, publish(ctx, e)
	}, run.HTTPOptions{Logger: log})
}
