package view

import (
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Pauses say which policies are paused now, by whom, who changed that last and when, where an act says it, and how a
// person's pause ends. The policies' statuses say it later, because they are written now and then.
func (s *Seen) Pauses() (out []string) {
	for i := range s.Policies {
		p := &s.Policies[i]
		by := policy.Pauses(p, s.Now)
		if len(by) == 0 {
			continue
		}
		words := "no new fence begins under policy " + p.Name + ": it is paused by " + strings.Join(by, ", ")
		if len(p.Spec.PauseRequests) > 0 {
			if who := s.who(p.UID, api.ActPause, func(to string) bool { return to != "" }); who != "" {
				words += "; last changed " + who
			}
			words += "; kubectl fence resume " + p.Name + " takes your name out, or another one with --as-name"
		}
		out = append(out, words)
	}
	return out
}
