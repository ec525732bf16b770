package fence

import (
	"cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// releasing frees the pods and volumes of a machine that is proven off.
func (d *decision) releasing() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if freedByDump(&d.st) {
		return d.releasingByDump()
	}
	if alive := d.signOfLife(); alive != "" {
		return d.void(alive)
	}
	if d.st.Release.StartedAt == nil {
		if o := d.calledOff(); o.decided {
			return o // a machine found off, whose fence was called off or braked
		}
	}
	if d.st.Proof == nil {
		return d.proveAnew(api.ProofExpired, "no proof; looking again")
	}
	if o := d.pastWord(); o.decided {
		if d.seen.Deleting || d.requests.Abort != nil {
			return d.timedOut("ended by a person; what is left is not released: " + cmp.Or(d.seen.Brakes.Message, d.seen.Brakes.Unwatched)) // S27
		}
		return o
	}
	if d.dec.Trigger.Missing() {
		return d.nodeGone() // S6
	}
	return d.release()
}

// release frees what is left on the node, until nothing is.
func (d *decision) release() outcome {
	left, r := d.seen.Left, &d.st.Release
	if left == nil {
		return d.stay(d.st.Reason, d.st.Message, Handover)
	}
	begun := r.StartedAt != nil
	r.PodsLeft, r.AttachmentsLeft = int32(len(left.Delete)+left.Terminating), int32(left.Attachments)
	nothing := r.PodsLeft+r.AttachmentsLeft == 0
	if nothing && r.DoneAt == nil {
		r.TimedOut = false // the last of it went while the taint was taken off
	}
	switch {
	case d.dec.Settings.Release.Strategy == api.ReleaseNone && r.DoneAt == nil:
		r.StartedAt = d.at(0)
		d.tell(api.Released, "cleanup strategy None: pods and volumes are left to Kubernetes and to the machine's own kubelet")
	case !begun && nothing:
		r.StartedAt = d.at(0) // nothing to free: no mark is placed
	case r.DoneAt == nil && (!begun || len(left.Delete) > 0 || !nothing):
		return d.nextBatch(left)
	}
	return d.released()
}

// nextBatch releases what is left, or waits for it to go. Every batch, and every
// stretch of waiting with the out-of-service taint on, rests on a fresh proof (S3).
func (d *decision) nextBatch(left *Left) outcome {
	r := &d.st.Release
	if r.Deadline != nil && !d.now.Before(r.Deadline.Time) {
		return d.timedOut(d.unreleased(left))
	}
	n, wait := d.due(left)
	if wait && !d.dec.Settings.Release.Taints() {
		return settled // nothing of ours is on the node: waiting needs no proof
	}
	if old := d.proofExpired(); old != "" {
		d.forgetProof()
		d.st.Power.NotBefore = nil
		return d.proveAnew(api.ProofExpired, old+"; looking again")
	}
	if d.seen.Node.Ready() && d.st.Proof.Type != api.ProofStorageCut {
		// Kubernetes frees nothing of a node that it counts as Ready. After this
		// the node is looked at again before the first deletion (S5).
		r.MarkedAt = d.at(0)
		return d.carryOut(MarkNotReady)
	}
	if wait {
		return settled
	}
	return d.freeBatch(left, n)
}

// freeBatch has so many pods deleted, under the out-of-service taint where the policy has it
// set.
func (d *decision) freeBatch(left *Left, n int) outcome {
	r := &d.st.Release
	if r.StartedAt == nil {
		r.StartedAt, r.Deadline, d.st.Retries = d.at(0), d.at(d.dec.Settings.Release.Timeout.Duration), 0
		d.tell(api.ReleaseStarted, d.plan(left, n))
	}
	if n := d.seen.Node; d.dec.Settings.Release.Taints() && !n.OutOfService && !n.OutOfServiceForeign { // one that somebody else has set is not ours to remove (S22)
		d.st.Placed.OutOfService = true
		d.st.Placed.OutOfServiceAs = (&api.NodeFence{Spec: api.NodeFenceSpec{Requests: d.requests}, Status: d.st}).OutOfServiceAs()
	}
	r.Batch, r.Pods = int32(n), r.Pods+int32(n)
	r.AskedAt = d.at(0)
	if n > 0 && !d.dec.Settings.Release.Taints() {
		r.BatchAt, r.InMinute = d.at(0), r.InMinute+int32(n)
	}
	r.NotAfter = d.batchEnds()
	r.Batches++ // no batch without a save: whoever goes on meanwhile has the record, and this one nothing
	return d.carryOut(Release)
}

// batchEnds is until when a batch may begin a deletion: within the proof's validity
// (S3), and before anybody goes on without it.
func (d *decision) batchEnds() *api.Time {
	until := d.now.Add(ActWithin)
	if late := d.st.Release.Deadline; late.Time.Before(until) {
		until = late.Time
	}
	return d.stamp(d.whileProven(until))
}

// void ends a release: what came back to life is left to its own kubelet (S4).
func (d *decision) void(alive string) outcome {
	if o := d.clearOutOfService(); o.decided {
		return o // S23: never on a node that is on
	}
	rebooted := d.st.Proof.BootIDBefore != "" && d.seen.Node.BootID != d.st.Proof.BootIDBefore
	d.st.Proof, d.st.Power.FirstOff, d.st.Power.LastRead = nil, nil, nil
	if rebooted || d.st.Release.StartedAt != nil {
		d.switchedOnByOther()
		return d.leave(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
	}
	d.st.Power.OffAt = nil
	d.proveAnew(api.SignOfLife, alive)
	return d.retry(api.SignOfLife, alive)
}

// pastWord holds a release that rests on a person's word while a restore is not
// confirmed: what was so then may not be so any more, and nobody can look (S16). What
// rests on reads is read anew.
//
// A process that has just started does not know how far the API server's state had come,
// and the ledger that it reads may be the restored one. So the word counts only beside a
// picture of the Leases that is of now: the one in a backup is old, and the source draws
// none into a ledger of which it has not told that it went back. A further Off asks for
// the same (see Recount). At the deadline the fence goes on, and releases nothing more.
func (d *decision) pastWord() outcome {
	b, end := d.seen.Brakes, d.st.Release.Deadline
	switch {
	case d.st.Proof.Type.Ages():
		return goOn
	case !b.Looked:
		d.stay(d.st.Reason, d.st.Message, Handover) // not seen is not clear
		return settled
	case b.Why == api.StateWentBack:
		return d.stay(b.Why, b.Message, Resync)
	case b.Unwatched != "" && (end == nil || d.now.Before(end.Time)):
		return d.stay(api.LeasePictureOld, "released on "+d.st.Proof.By+"'s word once the ledger's picture of the Leases is of now: "+b.Unwatched, AskPicture)
	}
	return goOn
}
