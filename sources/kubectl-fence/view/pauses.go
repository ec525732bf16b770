package view

import (
	"strings"

	"github.com/nodefence/nodefence/shared/policy"
)

// Pauses say which policies are paused now, by whom, and how a person's pause ends. Since when is not known:
// a policy keeps the names alone. The policies' statuses say it later, because they are written now and then.
func (s *Seen) Pauses() (out []string) {
	for i := range s.Policies {
		p := &s.Policies[i]
		by := policy.Pauses(p, s.Now)
		if len(by) == 0 {
			continue
		}
		words := "no new fence begins under policy " + p.Name + ": it is paused by " + strings.Join(by, ", ")
		if len(p.Spec.PauseRequests) > 0 {
			words += "; kubectl fence resume " + p.Name + " takes your name out, or another one with --as-name"
		}
		out = append(out, words)
	}
	return out
}
