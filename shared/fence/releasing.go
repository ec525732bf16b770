package fence

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// releasing frees the pods and volumes of a machine that is proven off.
func (d *decision) releasing() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if facts.FreedByDump(d.Record) {
		return d.releasingByDump()
	}
	if alive := d.SignOfLife(); alive != "" {
		return d.void(alive)
	}
	if d.Record.Release.StartedAt == nil {
		if o := d.cancel(); o.decided {
			return o // a machine found off, whose fence a person or a brake has ended
		}
	}
	if d.Record.Proof == nil {
		return d.proveAnew(api.ProofExpired, "no proof; looking again")
	}
	if o := d.pastWord(); o.decided {
		if d.Seen.Deleting || d.Requests.Abort != nil {
			return d.timedOut("ended by a person; what is left is not released: " + cmp.Or(d.Seen.Brakes.Message, d.Seen.Brakes.Unwatched)) // S27
		}
		return o
	}
	if d.Decision.Trigger.Missing() {
		return d.nodeGone() // S6
	}
	return d.release()
}

// release frees what is left on the node, until nothing is.
func (d *decision) release() outcome {
	left, r := d.Seen.Left, &d.Record.Release
	if left == nil {
		return d.stay(d.Record.Reason, d.Record.Message, facts.Handover)
	}
	begun := r.StartedAt != nil
	d.noteLeft(left)
	nothing := r.PodsLeft+r.AttachmentsLeft == 0
	if nothing && r.DoneAt == nil {
		r.TimedOut = false // the last of it went while the taint was taken off
	}
	switch {
	case d.Decision.Settings.Release.Strategy == api.ReleaseNone && r.DoneAt == nil:
		r.StartedAt = d.At(0)
		d.tell(api.Released, "cleanup strategy None: pods and volumes are left to Kubernetes and to the machine's own kubelet")
	case !begun && nothing:
		r.StartedAt = d.At(0) // nothing to free: no mark is placed
	case r.DoneAt == nil && (!begun || len(left.Delete) > 0 || !nothing):
		return d.nextBatch(left)
	}
	return d.released()
}

// nextBatch releases what is left, or waits for it to go. Every batch, and every
// stretch of waiting with the out-of-service taint on, rests on a fresh proof (S3).
func (d *decision) nextBatch(left *observed.Left) outcome {
	r := &d.Record.Release
	if r.StartedAt != nil && r.Deadline == nil {
		r.Deadline = d.At(d.Decision.Settings.Release.Timeout.Duration) // a record that does not say until when
	}
	if r.Deadline != nil && !d.Now.Before(r.Deadline.Time) {
		return d.timedOut(d.Unreleased(left))
	}
	if n := d.Seen.Node; n.Exists && !n.Taint && d.Record.Placed.Taint {
		return d.mark() // somebody has removed it: no pod is placed on the node before the release is over (S22)
	}
	n, wait := d.due(left)
	if wait && !d.Decision.Settings.Release.Taints() {
		return settled // nothing of ours is on the node: waiting needs no proof
	}
	if old := d.ProofExpired(); old != "" {
		d.forgetProof()
		d.Record.Power.NotBefore = nil
		return d.proveAnew(api.ProofExpired, old+"; looking again")
	}
	if d.Seen.Node.Ready() && d.Record.Proof.Type != api.ProofStorageCut {
		// Kubernetes frees nothing of a node that it counts as Ready. After this
		// the node is looked at again before the first deletion (S5).
		r.MarkedAt = d.At(0)
		return d.carryOut(MarkNotReady)
	}
	if wait {
		return settled
	}
	return d.freeBatch(left, n)
}

// freeBatch has so many pods deleted, under the out-of-service taint where the policy has it
// set.
func (d *decision) freeBatch(left *observed.Left, n int) outcome {
	r := &d.Record.Release
	if r.StartedAt == nil {
		r.StartedAt, r.Deadline, d.Record.Retries = d.At(0), d.At(d.Decision.Settings.Release.Timeout.Duration), 0
		d.tell(api.ReleaseStarted, d.Plan(left, n))
	}
	if n := d.Seen.Node; d.Decision.Settings.Release.Taints() && !n.OutOfService && !n.OutOfServiceForeign { // one that somebody else has set is not ours to remove (S22)
		d.Record.Placed.OutOfService = true
		d.Record.Placed.OutOfServiceAs = (&api.NodeFence{Spec: api.NodeFenceSpec{Requests: d.Requests}, Status: *d.Record}).OutOfServiceAs()
	}
	r.Batch, r.AskedAt = int32(n), d.At(0)
	if n > 0 && !d.Decision.Settings.Release.Taints() {
		r.BatchAt, r.InMinute = d.At(0), r.InMinute+int32(n)
	}
	r.NotAfter = d.batchEnds()
	r.Batches++ // no batch without a save: whoever goes on meanwhile has the record, and this one nothing
	return d.carryOut(Release)
}

// batchEnds is until when a batch may begin a deletion: within the proof's validity
// (S3), and before anybody goes on without it.
func (d *decision) batchEnds() *api.Time {
	until := d.Now.Add(facts.ActWithin)
	if late := d.Record.Release.Deadline; late.Time.Before(until) {
		until = late.Time
	}
	return d.Stamp(d.WhileProven(until))
}

// void ends a release: what came back to life is left to its own kubelet (S4).
func (d *decision) void(alive string) outcome {
	if o := d.clearOutOfService(); o.decided {
		return o // S23: never on a node that is on
	}
	rebooted := d.Record.Proof.BootIDBefore != "" && d.Seen.Node.BootID != d.Record.Proof.BootIDBefore
	d.Record.Proof, d.Record.Power.FirstOff, d.Record.Power.LastRead = nil, nil, nil
	if rebooted || d.Record.Release.StartedAt != nil {
		d.switchedOnByOther()
		return d.leave(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
	}
	d.Record.Power.OffAt = nil
	d.proveAnew(api.SignOfLife, alive)
	return d.retry(api.SignOfLife, alive)
}

// pastWord holds a release that rests on a person's word while a restore is not confirmed: what was so then may
// not be so any more, and nobody can look (S16). What rests on reads is read anew.
//
// A process that has just started does not know how far the API server's state had come, and the ledger that it
// reads may be the restored one. So the word counts only beside a picture of the Leases that is of now: the one
// in a backup is old, and the source draws none into a ledger of which it has not told that it went back. A
// further Off asks for the same (see Recount). At the deadline the fence goes on, and releases nothing more.
func (d *decision) pastWord() outcome {
	b, end := d.Seen.Brakes, d.Record.Release.Deadline
	switch {
	case d.Record.Proof.Type.Ages():
		return goOn
	case !b.Looked:
		d.stay(d.Record.Reason, d.Record.Message, facts.Handover) // not seen is not clear
		return settled
	case b.Why == api.StateWentBack:
		return d.stay(b.Why, b.Message, facts.Resync)
	case b.Unwatched != "" && (end == nil || d.Now.Before(end.Time)):
		return d.stay(api.LeasePictureOld, "released on "+d.Record.Proof.By+"'s word once the ledger's picture of the Leases is of now: "+b.Unwatched, facts.AskPicture)
	}
	return goOn
}

// due is how many pods are to be deleted now. If there is nothing to do but wait,
// it has said why, and when to look next.
func (d *decision) due(left *observed.Left) (n int, wait bool) {
	c, r := d.Decision.Settings.Release, &d.Record.Release
	free, held := facts.Permitted(c, left)
	if c.Taints() {
		return d.dueUnderTaint(left, len(free))
	}
	rate, again := d.quota()
	n = min(len(free), rate)
	if r.StartedAt == nil {
		return n, false
	}
	switch {
	case d.Since(r.AskedAt) < facts.Poll: // what was asked last has not been seen to act
		d.lookAfter(facts.Poll)
	case n > 0 || len(left.Detach) > 0:
		return n, false
	case len(free) > 0:
		d.stay(api.PodsPerMinute, fmt.Sprintf("%d pods are left; podsPerMinute is %d, the next go at %s",
			len(free)+len(held), *c.PodsPerMinute, d.Now.Add(again).UTC().Format(time.TimeOnly)), again)
	case len(held) > 0:
		d.stay(api.DisruptionBudget, fmt.Sprintf("%d pods are held: %s; %s", len(held), observed.Some(held), d.UntilDeadline()), d.Patience())
	default:
		d.stay(api.WaitingForRelease, "waiting for "+observed.Some(left.Words()), d.Patience())
	}
	if end := r.Deadline; end != nil && d.Record.NextLook.After(end.Time) {
		d.lookAt(end.Time)
	}
	return 0, true
}

// dueUnderTaint is due where the out-of-service taint is set, and Kubernetes frees the rest.
func (d *decision) dueUnderTaint(left *observed.Left, free int) (n int, wait bool) {
	r, node := &d.Record.Release, d.Seen.Node
	switch {
	case r.StartedAt == nil:
		return free, false
	case d.Since(r.AskedAt) < facts.Poll:
		d.lookAfter(facts.Poll) // pods that are made anew at once, or a taint that is not seen yet
		return 0, true
	case free > 0 || !node.OutOfService && !node.OutOfServiceForeign:
		return free, false
	}
	if d.Since(r.StartedAt) > facts.Resync {
		d.tell(api.WaitingForRelease, "waiting for "+observed.Some(left.Words()))
	}
	d.lookAfter(d.Patience())
	return 0, true
}

// quota is how many deletions the rate leaves for now, and, if none, when it leaves some. A minute's count begins
// anew a whole minute after its last batch, so that no minute, however it is laid, has more than the rate. A
// batch that only frees attachments is none of them: it would put the next deletions off.
func (d *decision) quota() (int, time.Duration) {
	rate := d.Decision.Settings.Release.PodsPerMinute
	if rate == nil {
		return int(^uint32(0) >> 1), 0
	}
	r := &d.Record.Release
	wait := facts.DeletionWindow - d.Since(r.BatchAt)
	if r.BatchAt == nil || wait <= 0 {
		r.InMinute = 0
		return int(*rate), 0
	}
	if n := *rate - r.InMinute; n > 0 {
		return int(n), 0
	}
	return 0, wait
}
