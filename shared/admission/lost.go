package admission

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// LostFor is how long a statement that nodes are lost may last.
const LostFor = 24 * time.Hour

// lostBy returns the statement that counts now, and the marks at which the Leases of its nodes stand; nil if
// there is none.
func lostBy(l *api.FenceLedger, now time.Time) (s *api.LostNodes, marks map[string]string) {
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
	s, marks := lostBy(l, now)
	if mark := marks[node]; mark == "" || mark != stillAt(l, node) {
		return nil
	}
	return s
}

// vouchedFor returns the statement that the node of a fence is lost, where a person has said besides that its
// machine is off, and the word was not refused; nil otherwise. The release of its work waits for no storm: the
// two statements are about this node, and no number of other nodes makes them less true.
func vouchedFor(f *api.NodeFence, l *api.FenceLedger, now time.Time) *api.LostNodes {
	c := f.Requests().ConfirmOff
	if c == nil {
		return nil
	}
	if a := f.Status.Answer(api.AskedConfirmOff); a != nil && f.Status.Answered(api.AskedConfirmOff, c.At) && a.Result == api.Refused {
		return nil
	}
	return Lost(l, f.Spec.NodeName, now)
}
