package admission

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// LostFor is how long a statement that nodes are lost may last.
const LostFor = 24 * time.Hour

// currentLost returns the statement that counts now, and the marks at which the Leases of its nodes stand; nil without a
// statement.
func currentLost(l *api.FenceLedger, now time.Time) (s *api.LostNodes, marks map[string]string) {
	s = l.Spec.Lost
	if s == nil || s.By == "" || !now.Before(s.Until.Time) || s.Until.Sub(now) > LostFor {
		return nil, nil
	}
	marks = make(map[string]string, len(s.Nodes))
	for _, n := range s.Nodes {
		marks[n.NodeName] = n.Renewed
	}
	return s, marks
}

// Lost returns the statement of a person that a node is lost, as long as its Lease has not moved since; nil if
// there is none.
func Lost(l *api.FenceLedger, node string, now time.Time) *api.LostNodes {
	s, marks := currentLost(l, now)
	if mark := marks[node]; mark == "" || mark != stillAt(l, node) {
		return nil
	}
	return s
}

// releaseVouched returns the statement that the node of a fence is lost, where a person has said besides that its
// machine is off; nil otherwise. The release of its work waits for no storm: the two statements are about this node, and
// no number of other nodes makes them less true. They vouch for no Off (S15). A word that waits for its answer leads to no
// Off. A word that was taken vouches for the release that began by it, and for nothing after it.
func releaseVouched(f *api.NodeFence, l *api.FenceLedger, now time.Time) *api.LostNodes {
	c := f.Requests().ConfirmOff
	if c == nil || f.Status.Answered(api.AskedConfirmOff, c.At) && !(tookWord(f) && f.CurrentPhase() == api.Releasing) {
		return nil
	}
	return Lost(l, f.Spec.NodeName, now)
}

// tookWord tells whether the word that the machine is off was taken for the proof.
func tookWord(f *api.NodeFence) bool {
	a := f.Status.Answer(api.AskedConfirmOff)
	return a != nil && a.Result == api.Done
}
