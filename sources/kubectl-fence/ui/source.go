package ui

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// What the mirror does not follow is read when a page needs it.
const (
	// readEvery is how old that may be.
	readEvery = 10 * time.Second
	// readWithin bounds the read: a page waits for it.
	readWithin = 2 * time.Second
)

// sourceLease is the Lease of the source as it was read last.
type sourceLease struct {
	at    time.Time
	lease *coordinationv1.Lease
	read  bool
}

// lookForSource adds the Lease of the source that leads, if the ledger does not show that a source looks.
func (s *Server) lookForSource(seen *view.Seen) {
	if seen.Namespace = s.Client.Namespace; !seen.Blind() {
		return
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if isOld(s.source.at, seen.Now) {
		ctx, cancel := context.WithTimeout(context.Background(), readWithin)
		defer cancel()
		s.Client.LookForSource(ctx, seen)
		s.source = sourceLease{seen.Now, seen.Source, seen.SourceRead}
	}
	seen.Source, seen.SourceRead = s.source.lease, s.source.read
}

// nodeEvents are the Events of a node as they were read last.
type nodeEvents struct {
	at  time.Time
	all []corev1.Event
}

// lookForEvents adds the Events that say that the record of a node can't be written. A user without the right to read
// them sees the rest.
func (s *Server) lookForEvents(seen *view.Seen, node string) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if isOld(s.events[node].at, seen.Now) {
		for other, e := range s.events {
			if isOld(e.at, seen.Now) {
				delete(s.events, other)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), readWithin)
		defer cancel()
		all, _ := s.Client.NodeEvents(ctx, node)
		if s.events == nil {
			s.events = map[string]nodeEvents{}
		}
		s.events[node] = nodeEvents{seen.Now, all}
	}
	seen.Events = s.events[node].all
}

// isOld tells whether something must be read again.
func isOld(at, now time.Time) bool { return at.IsZero() || now.Sub(at).Abs() >= readEvery }
