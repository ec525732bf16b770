package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/report"
)

// Store keeps the records. Fence is a quorum read, nil when there is none;
// SaveFenceStatus is a compare-and-swap.
type Store interface {
	Fence(ctx context.Context, node string) (*api.NodeFence, error)
	SaveFenceStatus(ctx context.Context, f *api.NodeFence) (*api.NodeFence, error)
}

// Function is what one function can see and do.
type Function interface {
	// Look fills in what the function's phases decide by.
	Look(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error
	// Act carries out one action. What it learnt goes into seen, as an
	// observation for the next decision; its error is never evidence. An action
	// that writes the record itself leaves in f what was written, or takes f's
	// resourceVersion away, so that it is read again.
	Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen *fence.Seen) error
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
	// Me gives each invocation a name of its own.
	Me func() string
	// Conflict is the error with which the store says that somebody else wrote first.
	Conflict error
	// Records, if set, are the records that this process wrote last.
	Records *RecordCache
}

// rounds bounds one invocation: conflicts and actions on Kubernetes together.
const rounds = 16

// Run works on the fence of one node until there is nothing more to do now, and
// returns the event that hands it on, if it must be handed on.
func (l *Loop) Run(ctx context.Context, node string, cause event.Event) (*event.Event, error) {
	inv := invocation{Loop: l, cause: cause, me: l.Me(), fence: l.Records.take(node, l.Now())}
	return inv.run(ctx, node)
}

// Open works on a fence whose status opens it and is not saved yet; before is the status
// that the store has. Both are saved in one: what opens the fence, and what its first
// look makes of it. If that look fails, the fence is opened all the same, so that it can't
// be forgotten (S19). The store's conflict means that somebody else wrote first, and is
// returned.
func (l *Loop) Open(ctx context.Context, f *api.NodeFence, before api.NodeFenceStatus, cause event.Event) (*event.Event, error) {
	l.Records.take(f.Spec.NodeName, l.Now())
	inv := invocation{Loop: l, cause: cause, me: l.Me(), fence: f, sure: true, opens: &before}
	return inv.run(ctx, f.Spec.NodeName)
}

func (inv *invocation) run(ctx context.Context, node string) (*event.Event, error) {
	l := inv.Loop
	for range rounds {
		more, err := inv.turn(ctx, node)
		if err != nil {
			return nil, err
		}
		if !more {
			e := inv.announce()
			l.Records.put(inv.fence, l.Now())
			return e, nil
		}
	}
	return nil, fmt.Errorf("fence of %s: no end after %d rounds", node, rounds)
}

// Keep has the next Run begin with a record that its caller has read or written
// just now; nil keeps nothing.
func (l *Loop) Keep(f *api.NodeFence) { l.Records.put(f, l.Now()) }

// invocation is one run of the loop, with what it has learnt so far.
type invocation struct {
	*Loop
	cause event.Event
	me    string
	// carried from round to round, because they were seen only once
	call     *fence.CallResult
	verdict  *fence.Verdict
	resolved bool
	checked  *fence.Checked
	// cleared is the record's resourceVersion for which the out-of-service taint
	// was removed last.
	cleared string
	// fence as last read or saved, nil if it is to be read; from is the phase
	// that the event found it in
	fence *api.NodeFence
	from  api.Phase
	// sure: fence was read or saved in this invocation. What is decided on any
	// other counts only once it is saved.
	sure    bool
	started bool
	// opens is the status before the one that opens the fence, until that is saved.
	opens *api.NodeFenceStatus
	// spoke: a device was called and its end is not saved yet
	spoke bool
}

// turn is look, decide, save, act.
func (inv *invocation) turn(ctx context.Context, node string) (more bool, err error) {
	if inv.fence == nil {
		if inv.fence, err = inv.Store.Fence(ctx, node); err != nil {
			return false, err
		}
		inv.sure = true
	}
	f := inv.fence
	if f == nil {
		return false, nil
	}
	foreign := fence.Foreign(f.Status)
	if mine := !foreign && slices.Contains(inv.Owns, f.CurrentPhase()); !mine && !inv.sure {
		return inv.again()
	} else if !inv.started {
		inv.started, inv.from = true, f.Status.Phase
		if inv.opens != nil {
			inv.from = inv.opens.Phase
		}
	}
	if foreign {
		inv.Reporter.Decided(ctx, report.Decision{Function: inv.Function, Cause: inv.cause, Before: f.Status, Fence: f, Err: errors.New("the record was written by a newer nodefence: left alone")})
		return false, nil
	}
	if !slices.Contains(inv.Owns, f.CurrentPhase()) {
		return false, nil
	}
	seen := fence.Seen{
		Me: inv.me, Call: inv.call, Verdict: inv.verdict, Resolved: inv.resolved, Checked: inv.checked,
		Cleared:  inv.cleared != "" && inv.cleared == f.ResourceVersion,
		Deleting: f.DeletionTimestamp != nil, Finalizer: slices.Contains(f.Finalizers, api.Finalizer),
	}
	if err := inv.Does.Look(ctx, f, &seen); err != nil {
		err = fmt.Errorf("look at %s: %w", node, err)
		if inv.opens != nil {
			_, saving := inv.Store.SaveFenceStatus(ctx, f)
			err = errors.Join(err, saving)
		}
		return false, err
	}
	return inv.decide(ctx, f, &seen, inv.Now())
}

// again has the record read, and begins anew.
func (inv *invocation) again() (more bool, err error) {
	if !inv.sure {
		inv.started = false
	}
	inv.fence = nil
	return true, nil
}

func (inv *invocation) decide(ctx context.Context, f *api.NodeFence, seen *fence.Seen, now time.Time) (more bool, err error) {
	st, act := fence.Decide(f, *seen, now)
	before := f.Status
	if inv.opens != nil {
		before = *inv.opens
	}
	same := equality.Semantic.DeepEqual(before, st)
	if same && !inv.sure {
		return inv.again()
	}
	if !same && !(act != fence.None && inv.sure && onlyLater(before, st, now)) {
		f.Status = st
		saved, err := inv.Store.SaveFenceStatus(ctx, f)
		if errors.Is(err, inv.Conflict) && inv.opens == nil {
			return inv.again() // what this invocation saw is kept
		}
		if err != nil {
			return false, fmt.Errorf("save fence of %s: %w", f.Spec.NodeName, err)
		}
		f = saved
	}
	inv.fence, inv.sure, inv.opens = f, true, nil
	d := report.Decision{Function: inv.Function, Cause: inv.cause, Before: before, Fence: f, Action: act}
	if act == fence.None || inv.spoke {
		inv.Reporter.Decided(ctx, d)
		// A phase that is ours too goes on here, without an event in between.
		return f.Status.Phase != before.Phase && !inv.spoke && slices.Contains(inv.Owns, f.Status.Phase), nil
	}
	return inv.act(ctx, d, seen)
}

// act carries out what was decided and saved.
func (inv *invocation) act(ctx context.Context, d report.Decision, seen *fence.Seen) (more bool, err error) {
	d.Err = inv.Does.Act(ctx, d.Fence, d.Action, seen)
	inv.Reporter.Decided(ctx, d)
	inv.call, inv.verdict, inv.resolved, inv.checked = seen.Call, seen.Verdict, seen.Resolved, seen.Checked
	if d.Action.Device() {
		inv.spoke = true
		return true, nil
	}
	if d.Err != nil && !errors.Is(d.Err, inv.Conflict) {
		return false, fmt.Errorf("%s %s: %w", d.Action, d.Fence.Spec.NodeName, d.Err)
	}
	if d.Err != nil || d.Fence.ResourceVersion == "" {
		inv.fence = nil
		return true, nil
	}
	if d.Action == fence.ClearOutOfService {
		inv.cleared = d.Fence.ResourceVersion
	}
	return true, nil
}

// soon is what is left at least of a nextLook that need not be put off.
const soon = 2 * time.Second

// onlyLater: all that the decision changes is to put nextLook off, and the one
// that stands is still to come. If we die in the action, that one wakes somebody
// in time, so there is nothing to save.
func onlyLater(before, after api.NodeFenceStatus, now time.Time) bool {
	if before.NextLook == nil || after.NextLook == nil || after.NextLook.Before(before.NextLook) || before.NextLook.Sub(now) < soon {
		return false
	}
	before.NextLook = after.NextLook
	return equality.Semantic.DeepEqual(before, after)
}

// announce says where the fence now stands, if somebody must act on that now.
func (inv *invocation) announce() *event.Event {
	f := inv.fence
	if f == nil || !inv.started || fence.Foreign(f.Status) {
		return nil
	}
	now := inv.Now()
	due := f.Status.NextLook != nil && !f.Status.NextLook.After(now)
	// A new phase of our own was worked on already, unless a device call ended the invocation.
	moved := f.Status.Phase != inv.from && (inv.spoke || !slices.Contains(inv.Owns, f.Status.Phase))
	if !moved && !due {
		return nil
	}
	e := inv.Source.Phase(f, now, now)
	events.CausedBy(&e, inv.cause)
	return &e
}
