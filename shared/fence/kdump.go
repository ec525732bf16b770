package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// A machine that crashed may be writing its memory away, and says so by messages.
// Cutting its power would destroy the dump, so its fence waits, in Pending and
// without a slot, until the messages have stopped or their time is over. They can
// be forged: all that they do here is bounded, and none of them hastens anything. For
// what they may do besides, where a policy opts in, see kdumpproof.go.

// noteDump keeps what is heard, as long as there is a dump to be destroyed.
func (d *decision) noteDump() {
	if !d.Record.Phase.LeadsToRelease() {
		return
	}
	if d.Record.Power.SwitchedByUs || d.Seen.Dump == nil || !d.Dumping() {
		return
	}
	m := d.Seen.Dump
	k := api.KdumpRecord{Since: d.Time(), BootID: m.BootID}
	if d.Record.Kdump != nil {
		k = *d.Record.Kdump
	}
	k.FirstSeen, k.LastSeen, k.Source, k.Count = *d.Stamp(m.First), *d.Stamp(m.Last), m.Source, m.Count
	d.Record.Kdump = &k
}

// spareDump gives the slot back, and goes back to waiting, if a dump has begun
// since the gate's yes.
func (d *decision) spareDump() outcome {
	why, until := d.DumpHolds()
	if why == "" {
		return goOn
	}
	if !d.Begun() {
		d.giveBack()
		d.enter(api.Pending, api.KdumpUnderWay, why)
	} else {
		d.stay(api.KdumpUnderWay, why, 0)
	}
	d.waitUntil(until)
	return settled
}

// Where the policy opts in, a dump that is under way is a proof: the kernel that ran
// the pods has crashed, and only the one that writes its memory away runs (S1). It
// frees pods and nothing else. A fence that would wait for the dump anyway leaves Pending
// for it under a slot, and goes back to waiting without one. Nothing was begun by it, so
// that all that comes later, the machine seen off first, is as it would be without it.

// dumpMayRelease tells whether a dump may be a proof for this fence, so that its Lease and
// its messages are to be looked at where neither would be.
func dumpMayRelease(f *api.NodeFence) bool {
	r := facts.Kdump(&f.Status.Decision)
	return r != nil && r.ReleasePodsWhileDumping
}

// toDump begins to delete pods by a dump.
func (d *decision) toDump() outcome {
	d.proveDump()
	return d.enter(api.Releasing, api.KdumpSeen, "the machine dumps its memory and its Lease stands still: its pods may go, all else waits until it is seen off")
}

// releasingByDump deletes pods as long as messages arrive.
func (d *decision) releasingByDump() outcome {
	if o := first(d.cancel, d.stale); o.decided {
		if d.Record.Phase != api.Releasing {
			d.Record.Proof = nil
		}
		return o
	}
	left, r, k := d.Seen.Left, &d.Record.Release, d.Record.Kdump
	switch {
	case d.dumpProves():
	case d.Seen.Dump == nil && k != nil:
		k.DoneAt = d.At(0) // whoever may not look would be sent here again and again
		return d.fromDump("cleanup can't see whether messages come, so no pod is released for them; ")
	default:
		return d.fromDump("")
	}
	if left == nil {
		return d.stay(d.Record.Reason, d.Record.Message, facts.Handover)
	}
	d.noteLeft(left)
	free, held := facts.Permitted(d.Decision.Settings.Release, left)
	if len(free) == 0 {
		k.DoneAt = d.At(0)
		return d.fromDump(fmt.Sprintf("%d pods released; %d pods and %d attachments wait until the machine is seen off; ", r.Pods, len(held)+left.Terminating, left.Attachments))
	}
	if d.Since(r.AskedAt) < facts.Poll {
		d.lookAfter(facts.Poll) // what was asked last has not been seen to act
		return settled
	}
	if !d.DumpFresh() {
		return d.stay(api.WaitingForRelease, "the next kdump message is waited for: pods are deleted within "+facts.DumpValidity.String()+" of one", facts.Poll)
	}
	rate, again := d.quota()
	n := min(len(free), rate)
	if n == 0 {
		return d.stay(api.PodsPerMinute, fmt.Sprintf("%d pods are left; podsPerMinute is %d", len(free), *d.Decision.Settings.Release.PodsPerMinute), min(again, facts.Handover))
	}
	return d.deletePods(n, len(left.Delete))
}

func (d *decision) deletePods(n, of int) outcome {
	d.proveDump()
	d.tell(api.ReleaseStarted, fmt.Sprintf("force-deleting %d of %d pods while the machine dumps its memory", n, of))
	r := &d.Record.Release
	r.NotAfter, r.AskedAt, r.BatchAt = d.Stamp(d.WhileDumping(d.Now.Add(facts.ActWithin))), d.At(0), d.At(0)
	r.Batch, r.InMinute = int32(n), r.InMinute+int32(n)
	r.Batches++ // no batch without a save
	return d.carryOut(DeletePods)
}

// fromDump goes back to waiting, without a slot.
func (d *decision) fromDump(msg string) outcome {
	d.Record.Proof = nil
	d.giveBack()
	why, until := d.DumpHolds()
	switch {
	case why != "":
		d.enter(api.Pending, api.KdumpUnderWay, msg+why)
		return d.waitUntil(until)
	case d.ConfirmAsked():
		return d.enter(api.Pending, api.KdumpOver, msg+d.Requests.ConfirmOff.By+" says that the machine is off")
	}
	return d.enter(api.Pending, api.KdumpOver, msg+d.DumpOver())
}
