package fence

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A request that comes while a fence of its node is open joins that fence (S7). If no
// power was cut and nothing released yet, the fence goes on from there as asked for: it
// waits for no condition, and passes the gate and all limits like any other. What is
// done to the machine is for the policy to say, so that no request is stronger than
// another.

// Ends says why a request can't join this open fence of a Node: it is about to end
// without a cut, or is of another Node object (S6). Empty if it can. A fence that was
// opened because there was no Node waits for the one that is to come of its machine.
func Ends(f *api.NodeFence, node types.UID) string {
	switch st := &f.Status; {
	case f.Status.Decision.NodeUID != node && !(Served(st) && f.Status.Decision.Trigger.Missing()):
		return "the fence that is under way is of another Node object of this name, and ends"
	case Served(st):
		return ""
	case undone(st) || f.Requests().Abort != nil || f.DeletionTimestamp != nil:
		return "the fence of this node that is under way ends, and no power was cut"
	}
	return ""
}

// undone: what it placed is taken back, access first, and the record is closed then. One
// that is only sent back to the gate goes on, and waits there.
func undone(st *api.NodeFenceStatus) bool {
	switch then := st.Restore; {
	case st.Outcome == api.SentBack:
		return false
	case st.Phase == api.Restoring:
		return st.Outcome != "" || then == nil || then.Then == api.Recovering
	}
	return st.Phase == api.Recovering
}

// Join writes a request into the record of an open fence, with who, why and by which event
// in its story (S28), and says what becomes of it.
func Join(f *api.NodeFence, r api.AskedBy) string {
	st, dec := &f.Status, &f.Status.Decision
	words, told := "it joins the fence that is under way", asker(r)+", joins this fence"
	r.Served = Served(st)
	if !r.Served && dec.Asker() == nil {
		words, told = "it joins the fence that waits, which goes on as asked for", told+", which goes on as asked for"
	}
	dec.AskedBy = append(slices.Clone(dec.AskedBy), r)
	if len(dec.AskedBy) > api.MaxAskedBy {
		oldest := 0
		if dec.Asker() == &dec.AskedBy[0] {
			oldest = 1 // for that one it goes on
		}
		dec.AskedBy = slices.Delete(dec.AskedBy, oldest, oldest+1)
	}
	d := &decision{st: *st, now: r.JoinedAt.Time}
	d.aside(api.RequestMerged, told)
	st.History = d.st.History
	if st.Phase == api.Failed {
		words = "it joins the fence that was given up, which goes on when a person wants it to (spec.requests.retry)"
	}
	return words
}

// Asked tells whether this open fence goes on because an event asks for it.
func Asked(f *api.NodeFence, now time.Time) bool {
	return requested(&f.Status.Decision, &f.Status, now)
}
