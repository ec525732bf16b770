package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// calm holds in a storm and in the cool-down after it (S15). A storm is over all nodes of a
// policy, or over those of one domain where the policy has limits for domains besides;
// whoever counts there begins and ends it.
func calm(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	for _, lim := range f.Status.Decision.Limits {
		for _, s := range scopes(lim) {
			if v := calmIn(s, c.domain(s, f.Spec.NodeName), c, l, now); v != nil {
				return v
			}
		}
	}
	return nil
}

func calmIn(sc scope, domain string, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	unhealthy, total := count(sc, domain, c, l)
	may, numbers := mayBegin(sc, unhealthy, total)
	numbers = clip.Message(numbers)
	where := facts.PolicyNamed(sc.Policy, sc.Generation) + in(sc, domain)
	s := storm(l, sc, domain)
	if !may {
		if s == nil {
			l.Status.Storms = append(l.Status.Storms, api.Storm{Policy: sc.Policy, TopologyKey: sc.key, Domain: domain, Since: observed.StampOf(now), Message: numbers})
		} else {
			s.Message, s.CoolDownUntil = numbers, nil
		}
		return hold(api.TooManyUnhealthy, where+": "+numbers, askStorm)
	}
	if s == nil {
		return nil
	}
	if left := cooling(s, sc.StormCoolDown.Duration, now); left > 0 && !Waived(l, s) {
		return hold(api.StormCoolDown, "after the storm under "+where+", until "+s.CoolDownUntil.UTC().Format(time.RFC3339)+
			", unless a person ends it (spec.coolDownEnded of FenceLedger "+api.LedgerName+")", min(left, askStorm))
	}
	l.Status.Storms = slices.DeleteFunc(l.Status.Storms, func(s api.Storm) bool { return isOver(s, sc, domain) })
	return nil
}

func isOver(s api.Storm, sc scope, domain string) bool {
	return s.Policy == sc.Policy && s.TopologyKey == sc.key && s.Domain == domain
}

func storm(l *api.FenceLedger, sc scope, domain string) *api.Storm {
	for i := range l.Status.Storms {
		if isOver(l.Status.Storms[i], sc, domain) {
			return &l.Status.Storms[i]
		}
	}
	return nil
}

// Storming is the storm under way over any policy of this fence, in words;
// empty if there is none. A storm in another domain is not this node's.
func Storming(f *api.NodeFence, labels map[string]string, l *api.FenceLedger) string {
	if words := storms(l); words != "" {
		return words
	}
	for _, lim := range f.Status.Decision.Limits {
		for _, sc := range scopes(lim) {
			domain := ""
			if sc.key != "" {
				domain = labels[sc.key]
			}
			if s := storm(l, sc, domain); s != nil && s.CoolDownUntil == nil {
				return "policy " + s.Policy + in(sc, domain) + ": " + s.Message
			}
		}
	}
	return ""
}

// CalmDown counts under each storm of the ledger as Admit does, and begins and ends
// its cool-down where no fence asks for long, because all have healed or were called
// off: else it would hold what comes weeks later. It begins no storm, and ends none on
// a picture on which Admit would not decide (S15, S16). The caller has read the ledger
// before everything else, and writes it by compare-and-swap: a storm that began
// meanwhile is not ended by what was seen before it.
func CalmDown(policies []api.FencePolicy, c Picture, l *api.FenceLedger, now time.Time) {
	if closedTo(l, now) != nil {
		return
	}
	var left []api.Storm
	for _, s := range l.Status.Storms {
		if !calmed(&s, limitsUnder(s.Policy, policies, c), c, l, now) {
			left = append(left, s)
		}
	}
	l.Status.Storms = left
}

// limitsUnder are those of a policy as it stands; of one that is deleted, and of a
// ConfigMap, as open fences have them.
func limitsUnder(name string, policies []api.FencePolicy, c Picture) (all []api.ScopedLimits) {
	for _, p := range policies {
		if p.Name == name {
			all = append(all, policy.LimitsOf(&p))
		}
	}
	if len(all) > 0 {
		return all
	}
	for i := range c.Fences {
		for _, lim := range c.Fences[i].Status.Decision.Limits {
			if c.Fences[i].Open() && lim.Policy == name {
				all = append(all, lim)
			}
		}
	}
	return all
}

// goneCoolDown is that of a storm whose limits nobody has any more.
const goneCoolDown = 5 * time.Minute

// calmed tells whether a storm and its cool-down are over under all of these limits. If
// there are none, its policy is deleted, or counts by other domains, and no open fence has
// them, or it was a ConfigMap's and its fences have ended: nothing is held by it, and
// whatever comes under that name again counts for itself.
func calmed(s *api.Storm, limits []api.ScopedLimits, c Picture, l *api.FenceLedger, now time.Time) bool {
	if slices.Contains(c.Uncounted, s.Policy) {
		return false
	}
	longest, found := time.Duration(0), false
	for _, lim := range limits {
		for _, sc := range scopes(lim) {
			if sc.key != s.TopologyKey {
				continue
			}
			unhealthy, total := count(sc, s.Domain, c, l)
			if may, numbers := mayBegin(sc, unhealthy, total); !may {
				s.Message, s.CoolDownUntil = clip.Message(numbers), nil
				return false
			}
			longest, found = max(longest, lim.StormCoolDown.Duration), true
		}
	}
	if !found {
		longest = goneCoolDown
	}
	return cooling(s, longest, now) <= 0
}

// Waived: a person has ended this very cool-down. A word about another one may stand: an earlier one, or one that is
// longer, and was under way before this one's storm was seen.
func Waived(l *api.FenceLedger, s *api.Storm) bool {
	e := l.Spec.CoolDownEnded
	if e == nil || e.By == "" || s.CoolDownUntil == nil {
		return false
	}
	return e.Until.Equal(s.CoolDownUntil) || slices.ContainsFunc(e.AlsoUntil, func(t api.Time) bool { return t.Equal(s.CoolDownUntil) })
}

// cooling is what is left of a storm's cool-down, which begins now if it has not.
func cooling(s *api.Storm, coolDown time.Duration, now time.Time) time.Duration {
	if s.CoolDownUntil == nil {
		until := observed.StampOf(now.Add(coolDown))
		s.CoolDownUntil = &until
	}
	return s.CoolDownUntil.Sub(now)
}
