package view

import (
	"cmp"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
)

// Storms say which storms and cool-downs hold fences, and which cool-down a person has ended. at writes a
// point in time. The numbers are those of now: the ledger has those of the last gate that was asked.
func (s *Seen) Storms(at func(time.Time) string) (out []string) {
	if s.Ledger == nil || len(s.Ledger.Status.Storms) == 0 {
		return nil
	}
	c := s.picture()
	for i := range s.Ledger.Status.Storms {
		x := &s.Ledger.Status.Storms[i]
		where := "policy " + x.Policy
		if x.TopologyKey != "" {
			where += ", " + x.TopologyKey + " " + cmp.Or(x.Domain, "without a value")
		}
		switch {
		case x.CoolDownUntil == nil:
			if numbers := admission.StormNow(x, s.Policies, c, s.Ledger); numbers != "" {
				out = append(out, "Storm over "+where+": "+numbers+". No fence begins there.")
			} else {
				out = append(out, "The storm over "+where+" has ended, and its cool-down is about to begin: no fence begins there.")
			}
		case admission.Waived(s.Ledger, x):
			e := s.Ledger.Spec.CoolDownEnded
			out = append(out, "The storm over "+where+" has ended, and "+e.By+" has ended its cool-down: "+e.Reason+".")
		case x.CoolDownUntil.After(s.Now):
			out = append(out, "The storm over "+where+" has ended; no fence begins there before "+at(x.CoolDownUntil.Time)+".")
		}
	}
	return out
}
