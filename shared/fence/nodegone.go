package fence

import (
	"cmp"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// What ran on a machine that we cut stays bound to its name when its Node object is
// deleted, until Kubernetes' own hand takes it: pod GC deletes the pods of a Node that
// is gone, and its volumes are detached. Nothing is released here, with a proof or
// without (S6). But a kubelet that comes up before that starts those pods again, just as
// they are being deleted and begun elsewhere. So the machine is not switched on before
// they are gone, or a recorded deadline has passed (S4).

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
		d.Record.MinReaderVersion = max(d.Record.MinReaderVersion, api.SchemaAwaited)
	}
	return d.enter(api.Releasing, why, msg+"; its machine is switched on once what ran there is gone")
}

// workLeft waits while something is bound to the name still, and its time is not over.
func (d *decision) workLeft(why api.Reason, msg string) outcome {
	left, r := d.Seen.Left, &d.Record.Release
	if left == nil {
		return d.stay(d.Record.Reason, d.Record.Message, facts.Handover)
	}
	r.PodsLeft, r.AttachmentsLeft = int32(len(left.Delete)+left.Terminating), int32(left.Attachments)
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

// Where a policy says so, the Node object of a machine that stays off is deleted when
// its work is released. Kubernetes deletes every pod of a Node that is gone, so that
// this is a release itself: it rests on a fresh proof, and on the Node as it was just
// looked at (S1, S3, S6). Our taint stays on it to the end, so that no work is placed
// in between, and goes with it; the out-of-service taint is off before (S23).

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
	if old := d.proofExpired(); old != "" {
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
	return d.Stamp(d.whileProven(until))
}
