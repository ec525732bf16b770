package apiserver

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/pace"
)

// sendChecks sends the event for each check whose turn has come.
func (s *Source) sendChecks() {
	now := s.now()
	for _, t := range s.targets.begun(now) {
		if v, ok := s.nodes.get(t.Node); !ok || v.uid != t.UID || s.due.HasOpen(t.Node) {
			continue
		}
		s.outbox.Put(outbox.Letter{
			Event: s.o.Source.Check(t.Node, t.UID, t.At, t.Until, now), About: "check/" + t.Node,
			Stale: func() bool { return s.now().Sub(t.At) > pace.Lateness || s.due.HasOpen(t.Node) },
		})
	}
}

// sendCredentialChecks has power look, for each fence whose device is left alone because it has
// refused the account, whether what the account is read from was written since.
func (s *Source) sendCredentialChecks() {
	now := s.now()
	for node, f := range s.due.Open() {
		paused := func(r api.Denied) bool { return r.Credentials != "" && fence.Paused(r, now) }
		if !slices.ContainsFunc(f.Status.Power.Denied, paused) {
			continue
		}
		s.outbox.Put(outbox.Letter{
			Event: s.o.Source.CheckCredentials(node, string(f.UID), now), About: "credentials/" + node,
			Stale: func() bool { return s.now().Sub(now) > pace.Lateness || !s.due.HasOpen(node) },
		})
	}
}
