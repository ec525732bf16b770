package resync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/remediation"
	"github.com/nodefence/nodefence/shared/run"
)

// Name is the function's name.
const Name = "resync"

const (
	// Tick is the time between two looks of Run. The owner of a fence is called when the
	// fence is late by patience, at most one tick later.
	Tick = 10 * time.Second
	// patience is how long the source and the broker may take to deliver a wake-up.
	patience = facts.Resync / 2
	// whole is how many ticks lie between two rounds that also look at the nodes.
	whole = int(facts.Resync / Tick)
)

// Fences lists all NodeFences.
type Fences interface {
	Fences(ctx context.Context) ([]api.NodeFence, error)
}

// Resyncer is the function. It must not be copied after first use.
type Resyncer struct {
	Fences Fences
	Source events.Source
	// Objects is the client for the nodes that the gate is told of; nil to tell it of none.
	Objects Objects
	// Requests is the client for the FenceRequests of RequestNamespaces; nil to look at none.
	Requests          Requests
	RequestNamespaces ask.Namespaces
	// Elsewhere is the client for the FenceRequests in other namespaces; nil to tell of none.
	Elsewhere Elsewhere
	// Sender sends an event to its owner: a run.Direct, which needs no broker, or the
	// broker if the functions can't be called.
	Sender run.Sender
	// Remediation are the Leases by which other programs are kept away; nil if there are none.
	Remediation *remediation.Leases
	// Invocation is how long a platform gives one invocation of a function; the usual if zero.
	Invocation time.Duration
	// Now is the API server's time.
	Now func() time.Time
	Log *slog.Logger

	mu    sync.Mutex
	calls map[string]*call
	apart saidElsewhere
}

// Handle handles one tick, from any clock.
func (s *Resyncer) Handle(ctx context.Context, _ event.Event) (*event.Event, error) {
	return nil, s.Resync(ctx)
}

// Resync calls the owner of every open fence that nobody has looked at for a while after it
// was due, and tells the gate of nodes that may need a fence. A call that fails does not
// keep the others from being made. Resync returns when its calls have ended.
func (s *Resyncer) Resync(ctx context.Context) error {
	r := s.round(ctx)
	return errors.Join(r.look(true), r.wait())
}

// Run looks at every tick until ctx ends, and returns when its calls have ended; they get
// drain for that (S10: nothing outlives its deadline). A long call, for example to a device
// that hangs, holds up no other call.
func (s *Resyncer) Run(ctx context.Context, every time.Duration) {
	var rounds sync.WaitGroup
	defer rounds.Wait()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r := s.round(ctx)
		r.draining = s.drain()
		err := r.look(n%whole == 0)
		rounds.Go(func() {
			if err := errors.Join(err, r.wait()); err != nil && ctx.Err() == nil {
				s.Log.Warn("resync failed; the next tick tries again", "function", Name, "error", err.Error())
			}
		})
	}
}

// look is one round: all of it, or only the overdue fences.
func (r *round) look(all bool) error {
	ctx := kube.WithFunction(r.ctx, Name)
	fences, err := r.Fences.Fences(ctx)
	if err != nil {
		return fmt.Errorf("look for overdue fences: %w", err)
	}
	now := r.Now()
	for i := range fences {
		if f := &fences[i]; f.Open() {
			r.wake(f, now)
		}
	}
	r.prune(fences)
	if !all {
		return nil
	}
	// The list is of now: a Lease that was given back since is not taken anew.
	leases := r.keepAway(ctx, fences)
	var requests, nodes error
	if r.Requests != nil {
		requests = r.wakeRequests(ctx, fences, now)
	}
	if r.Objects != nil {
		nodes = r.tellNodes(ctx, fences, now)
	}
	if r.Elsewhere != nil {
		r.tellElsewhere(ctx, now)
	}
	return errors.Join(leases, requests, nodes)
}

// keepAway renews the Leases by which other programs that remediate nodes are kept away.
func (r *round) keepAway(ctx context.Context, fences []api.NodeFence) (err error) {
	for i := range fences {
		if keeps, acts := keepsAway(&fences[i]); keeps {
			err = errors.Join(err, r.Remediation.Renew(ctx, fences[i].Spec.NodeName, acts))
		}
	}
	return err
}

// keepsAway: others are kept from a node as long as something is done to it, or is left on it by a
// fence that waits at the gate. A fence that was given up before power was cut leaves the node to
// others. acts says that the Lease is also taken where nobody has it; recover gives it back.
func keepsAway(f *api.NodeFence) (keeps, acts bool) {
	begun := f.Status.Begun()
	switch f.CurrentPhase() {
	case api.Finished:
		return false, false
	case api.Pending:
		return begun || f.Status.Placed.Taint, false
	case api.Failed:
		return begun, begun
	case api.Recovering:
		return true, false
	}
	return true, true
}

// wake calls a fence's owner if the fence is overdue; a missing nextLook means now (S19). The log says so once
// until the fence moves. One that is due far ahead is called too, and is not overdue.
func (r *round) wake(f *api.NodeFence, now time.Time) {
	late := patience
	if f.Status.NextLook != nil {
		late = now.Sub(f.Status.NextLook.Time)
	}
	// The slot makes another event than that of the last tick, and the same event as that
	// of a pod whose clock ticks at the same time.
	e := r.Source.Phase(f, now.Truncate(Tick), now)
	r.send(fenceOf(f.Spec.NodeName), late, now, e, func(err error) error {
		if err != nil {
			return fmt.Errorf("wake the fence of %s: %w", f.Spec.NodeName, err)
		}
		if late < 0 || !r.news(fenceOf(f.Spec.NodeName), stands(f)) {
			return nil
		}
		r.Log.Info("overdue, owner called", "function", Name, "node", f.Spec.NodeName, "fence", string(f.UID), "phase", string(f.CurrentPhase()))
		return nil
	})
}

// stands is what changes once the owner of a fence has looked at it.
func stands(f *api.NodeFence) string {
	next := ""
	if f.Status.NextLook != nil {
		next = f.Status.NextLook.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(f.UID, " ", f.CurrentPhase(), " ", next)
}

// fenceOf is the key of calls about a node's fence.
func fenceOf(node string) string { return "fence/" + node }
