package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Where the policy opts in, a dump that is under way is a proof: the kernel that ran
// the pods has crashed, and only the one that writes its memory away runs (S1). It
// frees pods and nothing else. A fence that would wait for the dump anyway leaves Pending
// for it under a slot, and goes back to waiting without one. Nothing was begun by it, so
// that all that comes later, the machine seen off first, is as it would be without it.

// dumpMayRelease tells whether a dump may be a proof for this fence, so that its Lease and
// its messages are to be looked at where neither would be.
func dumpMayRelease(f *api.NodeFence) bool {
	r := Kdump(f)
	return r != nil && r.ReleasePodsWhileDumping
}

// ByDump: this fence is releasing pods for a dump.
func ByDump(f *api.NodeFence) bool {
	return f.CurrentPhase() == api.Releasing && freedByDump(&f.Status)
}

// toDump begins to delete pods by a dump.
func (d *decision) toDump() outcome {
	d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaKdump) // an older nodefence would take it for a machine that is off (S21)
	d.proveDump()
	return d.enter(api.Releasing, api.KdumpSeen, "the machine dumps its memory and its Lease stands still: its pods may go, all else waits until it is seen off")
}

// releasingByDump deletes pods as long as messages arrive.
func (d *decision) releasingByDump() outcome {
	if o := first(d.calledOff, d.stale); o.decided {
		if d.st.Phase != api.Releasing {
			d.st.Proof = nil
		}
		return o
	}
	left, r, k := d.seen.Left, &d.st.Release, d.st.Kdump
	switch {
	case d.dumpProves():
	case d.seen.Dump == nil && k != nil:
		k.DoneAt = d.at(0) // whoever may not look would be sent here again and again
		return d.fromDump("cleanup can't see whether messages come, so no pod is released for them; ")
	default:
		return d.fromDump("")
	}
	if left == nil {
		return d.stay(d.st.Reason, d.st.Message, Handover)
	}
	r.PodsLeft, r.AttachmentsLeft = int32(len(left.Delete)+left.Terminating), int32(left.Attachments)
	free, held := permitted(d.dec.Settings.Release, left)
	if len(free) == 0 {
		k.DoneAt = d.at(0)
		return d.fromDump(fmt.Sprintf("%d pods released; %d pods and %d attachments wait until the machine is seen off; ", r.Pods, len(held)+left.Terminating, left.Attachments))
	}
	if d.since(r.AskedAt) < Poll {
		d.lookAfter(Poll) // what was asked last has not been seen to act
		return settled
	}
	if !d.dumpFresh() {
		return d.stay(api.WaitingForRelease, "the next kdump message is waited for: pods are deleted within "+DumpValidity.String()+" of one", Poll)
	}
	rate, again := d.quota()
	n := min(len(free), rate)
	if n == 0 {
		return d.stay(api.PodsPerMinute, fmt.Sprintf("%d pods are left; podsPerMinute is %d", len(free), *d.dec.Settings.Release.PodsPerMinute), min(again, Handover))
	}
	return d.deletePods(n, len(left.Delete))
}

func (d *decision) deletePods(n, of int) outcome {
	d.proveDump()
	d.tell(api.ReleaseStarted, fmt.Sprintf("force-deleting %d of %d pods while the machine dumps its memory", n, of))
	r := &d.st.Release
	r.NotAfter, r.AskedAt, r.BatchAt = d.stamp(d.whileDumping(d.now.Add(ActWithin))), d.at(0), d.at(0)
	r.Batch, r.Pods, r.InMinute = int32(n), r.Pods+int32(n), r.InMinute+int32(n)
	r.Batches++ // no batch without a save
	return d.carryOut(DeletePods)
}

// fromDump goes back to waiting, without a slot.
func (d *decision) fromDump(msg string) outcome {
	d.st.Proof = nil
	d.giveBack()
	why, until := d.dumpHolds()
	switch {
	case why != "":
		d.enter(api.Pending, api.KdumpUnderWay, msg+why)
		return d.waitUntil(until)
	case d.confirmAsked():
		return d.enter(api.Pending, api.KdumpOver, msg+d.requests.ConfirmOff.By+" says that the machine is off")
	}
	return d.enter(api.Pending, api.KdumpOver, msg+d.dumpOver())
}
