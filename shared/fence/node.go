package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// Where a policy says so, the Node object of a machine that stays off is deleted when
// its work is released. Kubernetes deletes every pod of a Node that is gone, so that
// this is a release itself: it rests on a fresh proof, and on the Node as it was just
// looked at (S1, S3, S6). Our taint stays on it to the end, so that no work is placed
// in between, and goes with it; the out-of-service taint is off before (S23).

// nodeGoes deletes the Node object, where that is to be, or says in words why it
// stays. Whoever dies after the save finds it there, or gone, and goes on (S9).
func (d *decision) nodeGoes() (o outcome, stays string) {
	r, n := &d.st.Release, d.seen.Node
	switch mine := n.Exists && n.UID == d.dec.NodeUID; {
	case !d.dec.Settings.Release.DeleteNode || d.dec.Settings.Action != api.ActionOff || d.owesPowerOn() || !mine || d.st.Proof == nil || !offBy[d.st.Proof.Type]:
		return goOn, ""
	case n.Terminating:
		return goOn, "; its Node object is being deleted, and goes when its finalizers are off"
	case r.TimedOut || r.PodsLeft+r.AttachmentsLeft > 0:
		return goOn, "; its Node object stays, as something is left on it"
	case r.DeleteNodeUntil != nil && !d.now.Before(r.DeleteNodeUntil.Time):
		return goOn, "; its Node object could not be deleted within " + d.dec.Settings.Release.Timeout.Duration.String()
	}
	if old := d.proofExpired(); old != "" {
		d.forgetProof()
		return d.proveAnew(api.ProofExpired, old+"; looking again before the Node is deleted"), ""
	}
	if r.DeleteNodeUntil == nil {
		r.DeleteNodeUntil = d.at(d.dec.Settings.Release.Timeout.Duration)
		d.tell(api.NodeDeletionSent, "the machine stays off and its work is released: deleting its Node object")
	}
	r.NotAfter = d.deletionEnds()
	return d.carryOut(DeleteNode), ""
}

// deletionEnds is until when the deletion may be begun: on this proof, and by this try.
func (d *decision) deletionEnds() *api.Time {
	until := sooner(d.now.Add(ActWithin), d.st.Release.DeleteNodeUntil.Time)
	return d.stamp(d.whileProven(until))
}
