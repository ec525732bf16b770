package fence

import (
	"cmp"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/policy"
)

// ended: the node of this record is gone, or another one has its name (S6). Nothing is done in its name any more.
// What we cut is switched on again all the same, once what ran on it is gone (S4).
func (d *decision) ended() outcome {
	if d.Missing() {
		return d.machineGone() // which is why it was opened
	}
	why, msg := d.NodeEnded()
	if why == "" {
		return goOn
	}
	d.forgetProof()
	if o := d.awaitsWork(why, msg); o.decided {
		return o
	}
	if d.Record.Release.TimedOut {
		msg += "; " + d.LeftBehind()
	}
	d.Record.Outcome = why
	if d.OwesPowerOn() {
		d.takeOver()
		d.enter(api.PoweringOn, why, msg)
	} else {
		d.leave(api.Recovering, why, msg)
	}
	return settled
}

// cancel ends a fence whose reason has gone, or sends it back to the gate
// when a brake is on. After the first Off neither happens any more (S17, S25).
func (d *decision) cancel() outcome {
	if d.Begun() {
		return goOn
	}
	if a := d.Requests.Abort; a != nil || d.Seen.Deleting {
		who := "the record was deleted"
		if a != nil {
			who = "asked by " + a.By
		}
		return d.undoNow(api.Aborted, who)
	}
	asks := d.Record.Phase == api.Pending && d.AsksPerson()
	if !d.Unhealthy() && !d.AskedFor() && !d.StillSinceOpened() && !asks {
		if d.RequestOld() && !d.Record.CutOrReleased {
			return d.undoNow(d.RequestEnds())
		}
		why := "no condition of the policy holds any more"
		if d.Decision.Trigger.Suspicion() {
			why = "its Lease moves again, and no condition of the policy holds"
		}
		return d.undoNow(api.HealedBeforeFence, why+d.UncutSoFar())
	}
	if d.Record.Phase != api.Pending && d.EarlyOnly() && !d.Suspected() {
		return d.enter(api.Pending, api.LeaseStandsStill, "its Lease is no evidence any more; waiting for a condition of the policy")
	}
	return d.applyBrakes()
}

// applyBrakes sends a fence that has not cut power back to the gate.
func (d *decision) applyBrakes() outcome {
	b, why := d.Seen.Brakes, api.Reason("")
	msg := b.Message
	switch {
	case !b.Looked:
		d.stay(d.Record.Reason, d.Record.Message, facts.Handover) // not seen is not clear
		return settled
	case b.Gone:
		return d.undoNow(api.PolicyDeleted, msg+d.UncutSoFar())
	case b.Stopped:
		why = cmp.Or(b.Why, api.Stopped)
	case b.Paused:
		why = api.Paused
	case b.Stricter && d.Record.Phase != api.Pending:
		why = b.Why // in Pending the policy is resolved anew
	case b.Storm && d.Record.Phase != api.Pending:
		why = cmp.Or(b.Why, api.TooManyUnhealthy) // in Pending the reservation itself asks for the storm
	case d.BeingDeleted() && d.Record.Phase != api.Pending && d.Record.Phase != api.Releasing:
		why, msg = api.NodeBeingDeleted, d.Seen.Node.Deleting
	default:
		return d.inWindow()
	}
	d.Record.Proof = nil
	d.giveBack()
	if d.Record.Phase != api.Pending {
		d.cutAnew() // in Pending the devices were asked since, and rarely from there
	}
	if b.Stricter && b.Unmark && d.Marked() {
		d.Record.Outcome = api.SentBack // what we placed goes first
		return d.leave(api.Recovering, why, msg)
	}
	d.enter(api.Pending, why, msg)
	d.lookAfter(facts.Resync)
	return settled
}

// inWindow sends a fence that was not begun back to the gate while a window is
// open, and looks again when it ends.
func (d *decision) inWindow() outcome {
	c := policy.Closed(d.Seen.Brakes.Windows, d.Seen.Brakes.Zones, d.Now)
	if c == nil {
		return goOn
	}
	d.Record.Proof = nil
	d.giveBack()
	d.enter(api.Pending, c.Why, c.Message)
	d.lookAfter(facts.Resync)
	if !c.Until.IsZero() && c.Until.Sub(d.Now) < facts.Resync {
		d.wakeAt(c.Until)
	}
	return settled
}

// What ran on a machine that we cut stays bound to its name when its Node object is deleted, until Kubernetes'
// own hand takes it: pod GC deletes the pods of a Node that is gone, and its volumes are detached. Nothing is
// released here, with a proof or without (S6). But a kubelet that comes up before that starts those pods again,
// just as they are being deleted and begun elsewhere. So the machine is not switched on before they are gone, or
// a recorded deadline has passed (S4).

// A node that is expected and has no Node object is fenced by its machine alone. Its
// record's node UID is empty, so that nothing is ever released or marked in its name
// (S6), and it ends as soon as a Node of the name is there.

// awaitsWork has a fence whose Node went wait for what ran on its machine, in the phase
// whose function sees that. A Node of the name that is healthy has a kubelet of its own,
// and what is bound to the name is that one's work by now.
func (d *decision) awaitsWork(why api.Reason, msg string) outcome {
	switch {
	case !d.OwesPowerOn() || d.Record.Release.DoneAt != nil || d.Healthy():
		return goOn
	case d.Record.Phase == api.Releasing:
		return d.workLeft(why, msg+"; ")
	}
	if !d.Record.Phase.HoldsSlot() { // what gave its slot back takes none for this (S14)
		d.Record.Awaited = cmp.Or(d.Record.Awaited, &api.AwaitedRecord{Since: d.Time(), Reason: d.Record.Reason, Message: d.Record.Message})
	}
	return d.enter(api.Releasing, why, msg+"; its machine is switched on once what ran there is gone")
}

// workLeft waits while something is bound to the name still, and its time is not over.
func (d *decision) workLeft(why api.Reason, msg string) outcome {
	left, r := d.Seen.Left, &d.Record.Release
	if left == nil {
		return d.stay(d.Record.Reason, d.Record.Message, facts.Handover)
	}
	d.noteLeft(left)
	if r.PodsLeft+r.AttachmentsLeft == 0 {
		return goOn
	}
	if r.Deadline == nil {
		r.Deadline = d.At(d.Decision.Settings.Release.Timeout.Duration)
	}
	if !d.Now.Before(r.Deadline.Time) {
		d.noteTimedOut(d.Unreleased(left))
		return goOn
	}
	d.stay(why, fmt.Sprintf("%s%d pods and %d attachments are left to Kubernetes: nothing is released without its Node", msg, r.PodsLeft, r.AttachmentsLeft), 5*facts.Poll)
	if r.Deadline.Before(d.Record.NextLook) {
		d.lookAt(r.Deadline.Time)
	}
	return settled
}

// machineGone: its deletion was asked for, and it is not listed any more.
func (d *decision) machineGone() outcome {
	if !d.MachineWithoutNode() || d.Record.Machine == nil || !d.Seen.MachineLooked || d.Seen.Machine != nil {
		return goOn
	}
	d.Record.Outcome = api.MachineListedNoMore
	return d.leave(api.Recovering, api.MachineListedNoMore, "Machine "+d.Decision.Trigger.Machine.String()+" is being deleted, or has a node by now")
}

// Where a policy says so, the Node object of a machine that stays off is deleted when its work is released.
// Kubernetes deletes every pod of a Node that is gone, so that this is a release itself: it rests on a fresh
// proof, and on the Node as it was just looked at (S1, S3, S6). Our taint stays on it to the end, so that no work
// is placed in between, and goes with it; the out-of-service taint is off before (S23).

// nodeGoes deletes the Node object, where that is to be, or says in words why it
// stays. Whoever dies after the save finds it there, or gone, and goes on (S9).
func (d *decision) nodeGoes() (o outcome, stays string) {
	r, n := &d.Record.Release, d.Seen.Node
	switch mine := n.Exists && n.UID == d.Decision.NodeUID; {
	case !d.Decision.Settings.Release.DeleteNode || d.Decision.Settings.Action != api.ActionOff || d.OwesPowerOn() || !mine || d.Record.Proof == nil || !offBy[d.Record.Proof.Type]:
		return goOn, ""
	case n.Terminating:
		return goOn, "; its Node object is being deleted, and goes when its finalizers are off"
	case r.TimedOut || r.PodsLeft+r.AttachmentsLeft > 0:
		return goOn, "; its Node object stays, as something is left on it"
	case r.DeleteNodeUntil != nil && !d.Now.Before(r.DeleteNodeUntil.Time):
		return goOn, "; its Node object could not be deleted within " + d.Decision.Settings.Release.Timeout.Duration.String()
	}
	if old := d.ProofExpired(); old != "" {
		d.forgetProof()
		return d.proveAnew(api.ProofExpired, old+"; looking again before the Node is deleted"), ""
	}
	if r.DeleteNodeUntil == nil {
		r.DeleteNodeUntil = d.At(d.Decision.Settings.Release.Timeout.Duration)
		d.tell(api.NodeDeletionSent, "the machine stays off and its work is released: deleting its Node object")
	}
	r.NotAfter = d.deletionEnds()
	return d.carryOut(DeleteNode), ""
}

// deletionEnds is until when the deletion may be begun: on this proof, and by this try.
func (d *decision) deletionEnds() *api.Time {
	until := facts.Sooner(d.Now.Add(facts.ActWithin), d.Record.Release.DeleteNodeUntil.Time)
	return d.Stamp(d.WhileProven(until))
}
