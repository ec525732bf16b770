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
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/report"
)

// invocation is one run of the loop, with what it has seen so far.
type invocation struct {
	*Loop
	cause event.Event
	me    string
	// notBefore is the time before which no read counts.
	notBefore time.Duration
	// seen is carried from round to round: no look sees it again.
	seen sightings
	// fence is the record as last read or saved, nil if it must be read; from is the phase in
	// which the event found it
	fence *api.NodeFence
	from  api.Phase
	// sure says that fence was read or saved in this invocation. A decision on any other record
	// counts only once it is saved.
	sure    bool
	started bool
	// opens is the status before the one that opens the fence, until that is saved.
	opens *api.NodeFenceStatus
	// did is the last action of this invocation that succeeded.
	did fence.Action
	// spoke says that a device was called and that the end of the call is not saved yet
	spoke bool
	// hands is what the next invocation carries out.
	hands *handed
	// reply is the event that the last action replies with.
	reply *event.Event
}

// run takes turns until there is nothing more to do now. The first one is begin, if that is set.
func (inv *invocation) run(ctx context.Context, node string, begin func() (more bool, err error)) (*event.Event, error) {
	if begin == nil {
		begin = func() (bool, error) { return inv.turn(ctx, node) }
	}
	more, err := begin()
	for n := 1; more && err == nil; n++ {
		if n == rounds {
			return nil, fmt.Errorf("fence of %s: no end after %d rounds", node, rounds)
		}
		more, err = inv.turn(ctx, node)
	}
	if err != nil {
		return nil, err
	}
	e := inv.announce()
	if inv.hands != nil {
		inv.Handoff.put(inv.hands)
	} else {
		inv.Records.put(inv.fence, inv.Now())
	}
	return e, nil
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
	mine := !foreign && inv.owns(f.CurrentPhase())
	if !mine && !inv.sure {
		return inv.readAgain()
	}
	inv.start()
	if foreign {
		inv.Reporter.Decided(ctx, report.Decision{Function: inv.Function, Cause: inv.cause, Before: f.Status, Fence: f, Err: errors.New("the record was written by a newer nodefence: left alone")})
	}
	if !mine {
		return false, nil
	}
	seen := inv.prepareLook()
	if err := inv.Does.Look(ctx, f, &seen, inv.notBefore); err != nil {
		err = fmt.Errorf("look at %s: %w", node, err)
		inv.noteFailure(ctx, api.LookFailed, err)
		return false, inv.saveOpening(ctx, err)
	}
	now := inv.Now()
	inv.seen.dropOldAnswers(&seen, now)
	return inv.decide(ctx, seen, now)
}

// start notes the phase that the event found the fence in.
func (inv *invocation) start() {
	if inv.started {
		return
	}
	inv.started, inv.from = true, inv.fence.Status.Phase
	if inv.opens != nil {
		inv.from = inv.opens.Phase
	}
}

// prepareLook returns what is known before a look: the state of the record, and what the actions of this
// invocation have seen.
func (inv *invocation) prepareLook() observed.Look {
	f := inv.fence
	seen := observed.Look{
		Me: inv.me, HandsOver: inv.Handoff != nil,
		Deleting: f.DeletionTimestamp != nil, Finalizer: slices.Contains(f.Finalizers, api.Finalizer),
	}
	inv.seen.fillIn(&seen, f.ResourceVersion)
	return seen
}

// saveOpening saves a fence that is about to open although its first look has failed with err (S19).
func (inv *invocation) saveOpening(ctx context.Context, err error) error {
	if inv.opens == nil {
		return err
	}
	_, saving := inv.Store.SaveFenceStatus(ctx, inv.fence)
	if saving != nil {
		inv.noteUnsaved(ctx, saving)
	}
	return errors.Join(err, saving)
}

// readAgain makes the next round read the record and start over.
func (inv *invocation) readAgain() (more bool, err error) {
	if !inv.sure {
		inv.started = false
	}
	inv.fence = nil
	return true, nil
}

// decide decides on the record, and saves what it becomes.
func (inv *invocation) decide(ctx context.Context, seen observed.Look, now time.Time) (more bool, err error) {
	f := inv.fence
	st, act := fence.Decide(f, seen, now)
	before := f.Status
	if inv.opens != nil {
		before = *inv.opens
	}
	same := equality.Semantic.DeepEqual(before, st) || onlyNextLookDiffers(before, st, act, now)
	if over := inv.withoutError(before, st, act, !same, now); over.LastError != st.LastError {
		st, same = over, false
	}
	if same && !inv.sure {
		return inv.readAgain()
	}
	if !same {
		f.Status = st
		saved, err := inv.Store.SaveFenceStatus(ctx, f)
		if errors.Is(err, inv.Conflict) && inv.opens == nil {
			return inv.readAgain() // this invocation keeps what it saw
		}
		if err != nil {
			inv.noteUnsaved(ctx, err)
			return false, fmt.Errorf("save fence of %s: %w", f.Spec.NodeName, err)
		}
		f = saved
	}
	inv.fence, inv.sure, inv.opens = f, true, nil
	d := report.Decision{Function: inv.Function, Cause: inv.cause, Before: before, Fence: f, Action: act}
	if inv.handsOver(f, act) {
		d.Action, inv.hands = fence.None, &handed{fence: f, me: inv.me, action: act, seen: seen, at: inv.Elapsed()}
		inv.Reporter.Decided(ctx, d)
		return false, nil
	}
	if act == fence.None || inv.spoke {
		inv.Reporter.Decided(ctx, d)
		// If the next phase is ours too, it continues here, without an event in between.
		return f.Status.Phase != before.Phase && !inv.spoke && inv.owns(f.Status.Phase), nil
	}
	return inv.act(ctx, d, seen)
}

// act carries out what was decided and saved.
func (inv *invocation) act(ctx context.Context, d report.Decision, seen observed.Look) (more bool, err error) {
	inv.seen.noteAsked(d.Action, inv.Now())
	var r Result
	r, d.Err = inv.Does.Act(ctx, d.Fence, d.Action, seen)
	if r.Record != nil {
		d.Fence, inv.fence = r.Record, r.Record
	}
	inv.Reporter.Decided(ctx, d)
	inv.seen.add(d.Action, r, d.Err)
	if othersReact(d.Action) {
		inv.notBefore = inv.Elapsed()
	}
	if d.Action.Device() {
		inv.spoke = true
		return true, nil
	}
	if d.Err != nil && !errors.Is(d.Err, inv.Conflict) {
		inv.noteFailure(ctx, string(d.Action), d.Err)
		return false, fmt.Errorf("%s %s: %w", d.Action, d.Fence.Spec.NodeName, d.Err)
	}
	if d.Err == nil {
		inv.did = d.Action
	}
	if d.Err == nil && r.Reply != nil {
		inv.reply = r.Reply
		return false, nil
	}
	if d.Err != nil || d.Fence.ResourceVersion == "" {
		inv.fence = nil
		return true, nil
	}
	if d.Action == fence.ClearOutOfService {
		inv.seen.cleared = d.Fence.ResourceVersion
	}
	return true, nil
}

// othersReact tells whether others react to an action, or whether the action takes time. Reads from
// before the action do not count then: the machine has changed after a call to its device, a living
// kubelet reacts to Ready=Unknown (S5), and a deleted Node may come back as another one (S6).
func othersReact(a fence.Action) bool {
	return a.Device() || a == fence.MarkNotReady || a == fence.DeleteNode
}

// announce sends the event of the fence's phase, if somebody must act on it now.
func (inv *invocation) announce() *event.Event {
	f := inv.fence
	if f == nil || !inv.started || fence.Foreign(f.Status) {
		return nil
	}
	if inv.reply != nil {
		events.CausedBy(inv.reply, inv.cause)
		return inv.reply
	}
	now := inv.Now()
	due := f.Status.NextLook != nil && !f.Status.NextLook.After(now)
	// A new phase of our own was worked on already, unless a device call ended the invocation.
	moved := f.Status.Phase != inv.from && (inv.spoke || !inv.owns(f.Status.Phase))
	if !moved && !due && inv.hands == nil {
		return nil
	}
	e := inv.Source.Phase(f, now, now)
	events.CausedBy(&e, inv.cause)
	return &e
}
