package fence

import (
	"cmp"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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
	case !d.owesPowerOn() || d.st.Release.DoneAt != nil || d.healthy():
		return goOn
	case d.st.Phase == api.Releasing:
		return d.workLeft(why, msg+"; ")
	}
	if !d.st.Phase.HoldsSlot() { // what gave its slot back takes none for this (S14)
		d.st.Awaited = cmp.Or(d.st.Awaited, &api.AwaitedRecord{Since: d.time(), Reason: d.st.Reason, Message: d.st.Message})
		d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaAwaited)
	}
	return d.enter(api.Releasing, why, msg+"; its machine is switched on once what ran there is gone")
}

// workLeft waits while something is bound to the name still, and its time is not over.
func (d *decision) workLeft(why api.Reason, msg string) outcome {
	left, r := d.seen.Left, &d.st.Release
	if left == nil {
		return d.stay(d.st.Reason, d.st.Message, Handover)
	}
	r.PodsLeft, r.AttachmentsLeft = int32(len(left.Delete)+left.Terminating), int32(left.Attachments)
	if r.PodsLeft+r.AttachmentsLeft == 0 {
		return goOn
	}
	if r.Deadline == nil {
		r.Deadline = d.at(d.dec.Settings.Release.Timeout.Duration)
	}
	if !d.now.Before(r.Deadline.Time) {
		d.noteTimedOut(d.unreleased(left))
		return goOn
	}
	d.stay(why, fmt.Sprintf("%s%d pods and %d attachments are left to Kubernetes: nothing is released without its Node", msg, r.PodsLeft, r.AttachmentsLeft), 5*Poll)
	if r.Deadline.Before(d.st.NextLook) {
		d.lookAt(r.Deadline.Time)
	}
	return settled
}

// machineGone: its deletion was asked for, and it is not listed any more.
func (d *decision) machineGone() outcome {
	if !d.machineWithoutNode() || d.st.Machine == nil || !d.seen.MachineLooked || d.seen.Machine != nil {
		return goOn
	}
	d.st.Outcome = api.MachineListedNoMore
	return d.leave(api.Recovering, api.MachineListedNoMore, "Machine "+d.dec.Trigger.Machine.String()+" is being deleted, or has a node by now")
}
