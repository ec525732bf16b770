package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// maxLately bounds a policy's list of decisions.
const maxLately = 10

// lastDecisions are the last sentences of the stories of this policy's fences.
func lastDecisions(p *api.FencePolicy, c Picture) []api.LastDecision {
	var all []api.LastDecision
	for i := range c.Fences {
		f := &c.Fences[i]
		if n := len(f.Status.History); f.Status.Decision.Policy.Name == p.Name && n > 0 {
			h := f.Status.History[n-1]
			all = append(all, api.LastDecision{NodeName: f.Spec.NodeName, At: h.At, Phase: h.Phase, Reason: h.Reason, Message: h.Message})
		}
	}
	slices.SortFunc(all, func(a, b api.LastDecision) int { return b.At.Compare(a.At.Time) })
	return all[:min(len(all), maxLately)]
}

// stormOf is since when a storm is over some of this policy's nodes, and until when it
// cools down after the last.
func stormOf(p *api.FencePolicy, l *api.FenceLedger, now time.Time) (since, until *api.Time) {
	for _, s := range l.Status.Storms {
		switch {
		case s.Policy != p.Name:
		case s.CoolDownUntil == nil:
			if since == nil || s.Since.Time.Before(since.Time) {
				since = s.Since.DeepCopy()
			}
		case s.CoolDownUntil.After(now) && (until == nil || s.CoolDownUntil.After(until.Time)):
			until = s.CoolDownUntil.DeepCopy()
		}
	}
	return since, until
}

// slotsIn is how many slots are in use there.
func slotsIn(s scope, domain string, c Picture, l *api.FenceLedger) (n int) {
	for _, r := range l.Status.Reservations {
		if takesRoom(s, domain, r, c) {
			n++
		}
	}
	return n
}

// roomIn is how many fences may begin there now under this scope's maxConcurrent, and in
// all under maxRate.
func roomIn(s scope, domain string, c Picture, l *api.FenceLedger, now time.Time) int {
	free := max(1, int(s.maxConcurrent)) - slotsIn(s, domain, c, l)
	if s.MaxRate == nil || s.key != "" {
		return max(0, free)
	}
	left := int(s.MaxRate.Count)
	for _, a := range l.Status.Admitted {
		if now.Sub(a.At.Time) < s.MaxRate.Period.Duration && takesRoom(s, domain, a, c) {
			left--
		}
	}
	return max(0, min(free, left))
}
