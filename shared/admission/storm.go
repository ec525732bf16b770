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

// calm brings the storms over all scopes of a fence's limits to date, and holds in a storm and in the
// cool-down after it (S15); the first scope that holds answers. A storm is over all nodes of a policy, or over
// those of one domain where the policy has limits for domains besides; whoever counts there begins and ends it.
// On a picture on which no fence may begin (usable is false), or of whose missing nodes nobody knows the number,
// storms begin and go on, and none cools down or ends.
func calm(f *api.NodeFence, c Picture, l *api.FenceLedger, usable bool, now time.Time) (first *observed.Verdict) {
	for _, lim := range f.Status.Decision.Limits {
		ends := usable && c.uncounted(lim.Policy) == ""
		for _, s := range scopes(lim) {
			v := calmIn(s, c.domain(s, f.Spec.NodeName), c, l, ends, now)
			first = firstVerdict(first, v)
		}
	}
	return first
}

// calmIn brings the storm of one scope to date, and returns how it holds; nil if it does not. Without ends a
// storm that the count no longer shows stays as it is.
func calmIn(sc scope, domain string, c Picture, l *api.FenceLedger, ends bool, now time.Time) *observed.Verdict {
	where := facts.PolicyNamed(sc.Policy, sc.Generation) + in(sc, domain)
	if numbers := noteStorm(sc, domain, c, l, now); numbers != "" {
		return refuse(api.TooManyUnhealthy, where+": "+numbers, askStorm)
	}
	s := storm(l, sc, domain)
	if s == nil || !ends {
		return nil
	}
	if left := cooling(s, sc.StormCoolDown.Duration, now); left > 0 && !Waived(l, s) {
		return refuse(api.StormCoolDown, "after the storm under "+where+", until "+s.CoolDownUntil.UTC().Format(time.RFC3339)+
			", unless a person ends it (spec.coolDownEnded of FenceLedger "+api.LedgerName+")", min(left, askStorm))
	}
	l.Status.Storms = slices.DeleteFunc(l.Status.Storms, func(s api.Storm) bool { return isOver(s, sc, domain) })
	return nil
}

// noteStorm counts in one scope. Of more unhealthy nodes than the scope allows it returns the numbers, and a
// storm with them stands in the ledger, as far as the ledger has room; of fewer it returns nothing, and changes
// nothing.
func noteStorm(sc scope, domain string, c Picture, l *api.FenceLedger, now time.Time) (numbers string) {
	unhealthy, total := count(sc, domain, c, l)
	may, numbers := mayBegin(sc, unhealthy, total)
	if may {
		return ""
	}
	numbers = clip.Message(numbers)
	if s := storm(l, sc, domain); s != nil {
		s.Message, s.CoolDownUntil = numbers, nil
	} else if len(l.Status.Storms) < maxStorms {
		l.Status.Storms = append(l.Status.Storms, api.Storm{Policy: sc.Policy, TopologyKey: sc.key, Domain: domain, Since: observed.StampOf(now), Message: numbers})
	}
	return numbers
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
// off: else it would hold what comes weeks later. It begins no storm. On a picture on which Admit would not
// decide a storm that the count shows goes on, and none cools down or ends (S15, S16). The caller has read the ledger
// before everything else, and writes it by compare-and-swap: a storm that began
// meanwhile is not ended by what was seen before it.
func CalmDown(policies []api.FencePolicy, c Picture, l *api.FenceLedger, now time.Time) {
	ends := closedTo(l, now) == nil
	var left []api.Storm
	for _, s := range l.Status.Storms {
		if !calmed(&s, limitsUnder(s.Policy, policies, c), c, l, ends, now) {
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
// whatever comes under that name again counts for itself. Without ends no storm is over, and no cool-down begins.
func calmed(s *api.Storm, limits []api.ScopedLimits, c Picture, l *api.FenceLedger, ends bool, now time.Time) bool {
	ends = ends && !slices.Contains(c.Uncounted, s.Policy)
	if numbers := stormNumbers(s, limits, c, l); numbers != "" {
		s.Message, s.CoolDownUntil = numbers, nil
		return false
	}
	longest, found := time.Duration(0), false
	for _, lim := range limits {
		for _, sc := range scopes(lim) {
			if sc.key == s.TopologyKey {
				longest, found = max(longest, lim.StormCoolDown.Duration), true
			}
		}
	}
	if !found {
		longest = goneCoolDown
	}
	if !ends {
		return false
	}
	return cooling(s, longest, now) <= 0
}

// stormNumbers returns the numbers by which a storm of the ledger goes on under any of these limits; empty if it does
// not.
func stormNumbers(s *api.Storm, limits []api.ScopedLimits, c Picture, l *api.FenceLedger) string {
	for _, lim := range limits {
		for _, sc := range scopes(lim) {
			if sc.key != s.TopologyKey {
				continue
			}
			unhealthy, total := count(sc, s.Domain, c, l)
			if may, numbers := mayBegin(sc, unhealthy, total); !may {
				return clip.Message(numbers)
			}
		}
	}
	return ""
}

// StormNow returns the numbers of a storm of the ledger as a gate counts that is asked now; empty if the count shows the
// storm no more. Where nobody can count, because nobody has its limits any more or knows how many nodes are missing,
// they are those of the ledger.
func StormNow(s *api.Storm, policies []api.FencePolicy, c Picture, l *api.FenceLedger) string {
	limits := limitsUnder(s.Policy, policies, c)
	if len(limits) == 0 || c.uncounted(s.Policy) != "" {
		return s.Message
	}
	return stormNumbers(s, limits, c, l)
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
