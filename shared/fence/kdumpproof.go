package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Where the policy opts in, a dump that is under way is a proof: the kernel that ran
// the pods has crashed, and only the one that writes its memory away runs (S1). It
// frees pods and nothing else. It is a walk aside, taken while the fence waits for
// the dump anyway: under a slot, and back to waiting without one. Nothing was begun
// by it, so that all that comes later, the machine seen off first, is as it would be
// without it.

const (
	// DumpValidity: pods are deleted on a message no older. It must be shorter than
	// any machine takes from its last message to a kubelet that starts pods.
	DumpValidity = 5 * time.Second
	// dumpApart lies between the first of the messages and the last: one alone may
	// have been sent by mistake, or lain somewhere.
	dumpApart = 5 * time.Second
)

// AsksDump tells whether a dump may be a proof for this fence, so that its Lease and
// its messages are to be looked at where neither would be.
func AsksDump(f *api.NodeFence) bool {
	r := Kdump(f)
	return r != nil && r.ReleasePodsWhileDumping
}

// ByDump: this fence is releasing pods for a dump.
func ByDump(f *api.NodeFence) bool { return f.CurrentPhase() == api.Releasing && byDump(&f.Status) }

func byDump(st *api.NodeFenceStatus) bool {
	return st.Phase == api.Releasing && st.Proof != nil && st.Proof.Type == api.ProofKdump
}

// dumpProves: the policy opts in, the fence waits for this dump, its messages arrive,
// the node's Lease has stopped before them, and the boot is the one that crashed. For
// each of them it counts only that it was seen now (S2).
func (d *decision) dumpProves() bool {
	r, m, k, n := kdumpRule(d.dec), d.seen.Dump, d.st.Kdump, d.seen.Node
	if r == nil || !r.ReleasePodsWhileDumping || !d.dec.Settings.Release.Deletes() || len(d.dec.Isolation()) > 0 || m == nil || k == nil || k.DoneAt != nil {
		return false
	}
	if why, _ := d.dumpHolds(); why == "" || d.begun() || d.earlyOnly() {
		return false
	}
	still := d.st.Lease.StillSince
	stopped := d.seen.Lease.Exists && still != nil && !d.leaseFresh() && m.Last.After(still.Time)
	mine := n.Exists && n.UID != "" && n.UID == d.dec.NodeUID && !n.Ready()
	boot := k.BootID != "" && k.BootID == m.BootID && k.BootID == n.BootID
	return stopped && mine && boot && m.Count > 1 && m.Last.Sub(m.First) >= dumpApart
}

// toDump takes the walk aside.
func (d *decision) toDump() outcome {
	d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaKdump) // an older nodefence would take it for a machine that is off (S21)
	d.proveDump()
	return d.enter(api.Releasing, api.KdumpSeen, "the machine dumps its memory and its Lease stands still: its pods may go, all else waits until it is seen off")
}

// proveDump makes the proof, anew for each batch (S3).
func (d *decision) proveDump() {
	p := d.proof(api.ProofKdump)
	p.Device, p.BootIDBefore, p.At = "kdump "+d.seen.Dump.Source, d.st.Kdump.BootID, *d.stamp(d.seen.Dump.Last)
	d.st.Proof = p
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
	if !Fresh(d.seen.Dump.Last, d.now, DumpValidity) {
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
	until, r := d.now.Add(ActWithin), &d.st.Release
	if last := d.seen.Dump.Last.Add(DumpValidity); last.Before(until) {
		until = last
	}
	r.NotAfter, r.AskedAt, r.BatchAt = d.stamp(until), d.at(0), d.at(0)
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
