package loop

import (
	"context"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/report"
)

// Store keeps the records. Fence is a quorum read, nil when there is none;
// SaveFenceStatus is a compare-and-swap.
type Store interface {
	Fence(ctx context.Context, node string) (*api.NodeFence, error)
	SaveFenceStatus(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error)
}

// Function says what one function can see and do.
type Function interface {
	// Look fills in what the function's phases decide on. Reads from before notBefore, by the loop's
	// Elapsed, do not count.
	Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error
	// Act carries out one action that was decided on for f by seen, and changes neither. Its error is never
	// evidence: what the action saw is in the result.
	Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (Result, error)
}

// Loop runs one function's part of the automaton.
type Loop struct {
	Function string
	Owns     []api.Phase
	Store    Store
	Does     Function
	Reporter report.Reporter
	Source   events.Source
	Now      func() time.Time
	// Elapsed is the clock by which a look dates what it reads. It never goes back.
	Elapsed func() time.Duration
	// Me gives each invocation a name of its own.
	Me func() string
	// Conflict is the store's error when somebody else wrote first.
	Conflict error
	// Records, if set, has the records that this process wrote last.
	Records *RecordCache
	// Handoff, if set, has what one invocation decides and the next one carries out. It may be set
	// only where every function of a fence runs in this process.
	Handoff *Handoff
}

// rounds bounds one invocation: conflicts and actions on Kubernetes together.
const rounds = 16

// notBefore returns the time before which no read counts for an invocation that began then. A function
// that hands a fence on has just looked, often in this process, and what it saw counts. Any other event
// says that something has changed, such as a Node that became Ready or a Lease that moved, or that time
// has passed. For such an event no read counts from before the invocation.
func notBefore(cause event.Event, began time.Duration) time.Duration {
	if events.HandsOn(cause) {
		return 0
	}
	return began
}

// Run works on the fence of one node until there is nothing more to do now, and returns the event
// that hands it on, if it must be handed on. began is when its caller took the event, by Elapsed.
func (l *Loop) Run(ctx context.Context, node string, cause event.Event, began time.Duration) (*event.Event, error) {
	if a := l.Handoff.take(node, l.owns); a != nil {
		inv := invocation{Loop: l, cause: cause, notBefore: notBefore(cause, began)}
		return inv.run(ctx, node, func() (bool, error) { return inv.carryOn(ctx, a) })
	}
	inv := invocation{Loop: l, cause: cause, me: l.Me(), notBefore: notBefore(cause, began), fence: l.Records.take(node, l.Now())}
	return inv.run(ctx, node, nil)
}

// GoOn is Run on a record that its caller has just read for this event.
func (l *Loop) GoOn(ctx context.Context, f *api.NodeFence, cause event.Event, began time.Duration) (*event.Event, error) {
	node := f.Spec.NodeName
	l.Records.take(node, l.Now())
	inv := invocation{Loop: l, cause: cause, me: l.Me(), notBefore: notBefore(cause, began), fence: f, sure: true}
	return inv.run(ctx, node, nil)
}

// Open works on a fence whose status opens it and is not saved yet; before is the status
// that the store has. Both are saved in one: what opens the fence, and what its first
// look makes of it. resolved says that the devices and the policies in it were just read. If
// that look fails, the fence is still opened, so that it can't be forgotten (S19). The store's
// conflict means that somebody else wrote first, and is returned.
func (l *Loop) Open(ctx context.Context, f *api.NodeFence, before api.NodeFenceStatus, resolved bool, cause event.Event, began time.Duration) (*event.Event, error) {
	l.Records.take(f.Spec.NodeName, l.Now())
	inv := invocation{Loop: l, cause: cause, me: l.Me(), notBefore: notBefore(cause, began), fence: f, sure: true, opens: &before}
	inv.seen.resolved = resolved
	return inv.run(ctx, f.Spec.NodeName, nil)
}

// owns tells whether this function works on the fences of a phase.
func (l *Loop) owns(p api.Phase) bool { return slices.Contains(l.Owns, p) }

// Keep makes the next Run begin with a record that its caller has just read or written; nil keeps
// nothing.
func (l *Loop) Keep(f *api.NodeFence) { l.Records.put(f, l.Now()) }
