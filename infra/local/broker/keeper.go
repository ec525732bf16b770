package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// probeEvery is the time between two probes, and how long the result of a probe is
	// reused.
	probeEvery = 5 * time.Second
	// afterHandlers is how much longer than a handler may take a drain waits: a call to a device
	// ends before the broker that started it is closed (S10: nothing outlives its deadline).
	afterHandlers = 15 * time.Second
	// firstWait and longestWait bound the pause between two starts.
	firstWait, longestWait = time.Second, 30 * time.Second
)

// emptyAfter is how many starts with one folder may fail before the folder is emptied.
const emptyAfter = 3

// Keeper keeps a broker running. When the broker takes no events any more, Keeper starts
// another one: with the same folder, and with an emptied folder after that has failed
// emptyAfter times. There may be no broker for a while, also at first.
type Keeper struct {
	o     Options
	every time.Duration
	limit time.Duration // of one probe
	wait  time.Duration // between the first two starts
	open  func(ctx context.Context, emptied bool) (*Broker, error)
	// spoilt counts the failed starts in a row, without those that were only slow.
	spoilt int

	mu     sync.Mutex // guards broker, broken, probed
	broker *Broker
	broken error
	probed time.Time
	asking sync.Mutex // one probe at a time
}

// Keep opens the folder and starts to deliver. If no broker starts, Run tries again, and
// resync calls the functions meanwhile. Keep returns an error only if no later try can
// succeed. Run watches the broker; Close ends it.
func Keep(ctx context.Context, o Options) (*Keeper, error) {
	o.setDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	k := &Keeper{o: o, every: probeEvery, limit: probeTimeout, wait: firstWait}
	k.open = k.openFolder
	k.broker, k.broken = k.start(ctx)
	switch err := k.broken; {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, errNotOurs), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR):
		return nil, err
	default:
		k.o.Logger.ErrorContext(ctx, noBroker, "error", err.Error())
	}
	return k, nil
}

const noBroker = "cannot start the broker; trying again soon, and resync calls the functions meanwhile"

// start opens the same folder, or empties it after emptyAfter failures. The folder holds
// only wake-ups; the records of fences are in the API server. Slowness does not count as a
// failure: a slow disk is given time, however often.
func (k *Keeper) start(ctx context.Context) (*Broker, error) {
	b, err := k.open(ctx, false)
	switch {
	case err == nil:
		k.spoilt = 0
		return b, nil
	case errors.Is(err, errNotOurs) || ctx.Err() != nil || slow(err):
		return nil, err
	}
	if k.spoilt++; k.spoilt < emptyAfter {
		return nil, err
	}
	k.o.Logger.ErrorContext(ctx, "the broker does not start with its folder; emptying the folder, which loses wake-ups and dead letters but no fence",
		"folder", k.o.Dir, "tries", k.spoilt, "error", err.Error())
	b, again := k.open(ctx, true)
	if again != nil {
		return nil, errors.Join(err, fmt.Errorf("with an emptied folder: %w", again))
	}
	k.spoilt = 0
	return b, nil
}

func (k *Keeper) openFolder(ctx context.Context, emptied bool) (*Broker, error) {
	o := k.o
	o.empty = emptied
	b, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := b.Probe(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("try the broker: %w", b.blame(err)), b.Close())
	}
	return b, nil
}

// slow reports whether the only known cause of a failure is that something took too long.
func slow(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// Run probes until ctx ends, and replaces a broker whose probe fails twice in a row.
func (k *Keeper) Run(ctx context.Context) {
	if k.now() == nil {
		k.another(ctx)
	}
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

// replace drains the broker, so that no call is outstanding, and starts another. Resync
// calls the functions meanwhile.
func (k *Keeper) replace(ctx context.Context, cause error) {
	k.mu.Lock()
	old := k.broker
	k.broken = cause
	k.mu.Unlock()
	limit, cancel := context.WithTimeout(ctx, old.o.HandlerTimeout+afterHandlers)
	defer cancel()
	if err := old.Drain(limit); err != nil {
		k.o.Logger.WarnContext(ctx, "the broken broker did not close cleanly; starting another one", "error", err.Error())
	}
	k.another(ctx)
}

// another tries to start a broker until a start succeeds.
func (k *Keeper) another(ctx context.Context) {
	for wait := k.wait; ctx.Err() == nil; wait = min(2*wait, longestWait) {
		b, err := k.start(ctx)
		k.mu.Lock()
		if k.broken = err; err == nil {
			k.broker, k.probed = b, time.Now()
		}
		k.mu.Unlock()
		if err == nil {
			k.o.Logger.WarnContext(ctx, "another broker is running")
			return
		}
		k.o.Logger.ErrorContext(ctx, noBroker, "wait", wait.String(), "error", err.Error())
		pause(ctx, wait)
	}
}

// Health sends a message through the streams and back, or returns the result of a recent
// probe.
func (k *Keeper) Health(ctx context.Context) error {
	k.asking.Lock()
	defer k.asking.Unlock()
	k.mu.Lock()
	b, broken, fresh := k.broker, k.broken, time.Since(k.probed) < k.every/2
	k.mu.Unlock()
	switch {
	case broken != nil:
		return fmt.Errorf("the broker is being restarted: %w", broken)
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
