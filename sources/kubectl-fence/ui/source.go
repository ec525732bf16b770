package ui

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

const (
	// sourceEvery is how often the Lease of the source is read while the ledger does not show that a source looks.
	sourceEvery = 10 * time.Second
	// sourceWithin bounds that read: a page waits for it.
	sourceWithin = 2 * time.Second
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.at.IsZero() || seen.Now.Sub(s.source.at).Abs() >= sourceEvery {
		ctx, cancel := context.WithTimeout(context.Background(), sourceWithin)
		defer cancel()
		s.Client.LookForSource(ctx, seen)
		s.source = sourceLease{seen.Now, seen.Source, seen.SourceRead}
	}
	seen.Source, seen.SourceRead = s.source.lease, s.source.read
}
