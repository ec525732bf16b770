package view

import (
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Blind tells whether nodefence's picture of the Leases is too old for a fence to begin: then it may be
// dead, and what it wrote about Leases says nothing of now. Of a ledger that is nil nothing is known.
func (s *Seen) Blind() bool {
	if s.Ledger == nil {
		return false
	}
	at := s.Ledger.Status.Leases.ObservedAt
	return at == nil || s.Now.Sub(at.Time) > facts.Resync
}

// lookedLast says when nodefence looked at the Leases last, of one that is blind.
func (s *Seen) lookedLast() string {
	if at := s.Ledger.Status.Leases.ObservedAt; at != nil {
		return "has not looked at the Leases since " + stamp(at.Time)
	}
	return "has not looked at the Leases yet"
}
