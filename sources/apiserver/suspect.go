package apiserver

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// suspects sends an event for each Lease that stands still in the picture that
// the ledger has, once for each mark at which it stands. It goes to the gate
// whatever the policies say: the source knows none. A node with an open fence is
// under somebody's eyes already, and a picture that is younger than a renewal may
// show what only nobody looked at (S15).
func (s *Source) suspects() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, still := s.now(), map[string]string{}
	for _, l := range s.suspicious() {
		if s.due.hasOpen(l.NodeName) {
			still[l.NodeName] = s.told[l.NodeName]
			continue
		}
		still[l.NodeName] = l.Renewed
		if s.told[l.NodeName] != l.Renewed {
			s.sendSuspect(l, time.Time{}, now)
		}
	}
	s.told = still
}

// suspicious are the still Leases of nodes that are there; called with the lock held.
func (s *Source) suspicious() (all []api.StillLease) {
	p := s.drawn
	if !spans(p) || !s.picture.paused.IsZero() {
		return nil
	}
	for _, l := range p.Still {
		if _, known := s.nodes[l.NodeName]; known {
			all = append(all, l)
		}
	}
	return all
}

// sendSuspect is called with the lock held. It is stale once the Lease has moved.
func (s *Source) sendSuspect(l api.StillLease, resync, now time.Time) {
	s.outbox.put(letter{
		event: s.o.Source.Suspect(l.NodeName, s.nodes[l.NodeName].uid, l.Renewed, l.Since.Time, resync, now), about: "suspect/" + l.NodeName,
		stale: func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.picture.leases[l.NodeName].renewed != l.Renewed
		},
	})
}
