package view

import (
	"fmt"

	"github.com/nodefence/nodefence/shared/admission"
)

// lost says who has said that nodes are lost, of how many that still counts, and until when; empty if of none.
func (s *Seen) lost() string {
	if s.Ledger == nil || s.Ledger.Spec.Lost == nil {
		return ""
	}
	w, n := s.Ledger.Spec.Lost, 0
	for _, node := range w.Nodes {
		if admission.Lost(s.Ledger, node.NodeName, s.Now) != nil {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s has said that %s lost, until %s: %s; kubectl fence lost --withdraw takes that back", w.By, Count(n, "node is", "nodes are"), stamp(w.Until.Time), w.Reason)
}
