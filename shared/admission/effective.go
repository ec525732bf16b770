package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/policy"
)

// rooms is where under one policy's limits a fence may begin now.
type rooms struct {
	fences int32
	// why no fence may begin anywhere; empty if one may.
	why   api.Reason
	words string
}

// roomUnder counts as the gate does that is asked under the policy: a dry run asks beside other dry runs.
func roomUnder(p *api.FencePolicy, st *api.FencePolicyStatus, c Picture, l *api.FenceLedger, now time.Time) rooms {
	if p.Spec.Mode == api.ModeDryRun {
		l = withDryRuns(l, c)
	}
	return roomNow(policy.LimitsOf(p), st, c, l, now)
}

// roomNow counts under the totals, and in each domain besides.
func roomNow(lim api.ScopedLimits, st *api.FencePolicyStatus, c Picture, l *api.FenceLedger, now time.Time) (r rooms) {
	st.Domains, st.DomainsCount = nil, 0
	all := scopes(lim)
	r.why, r.words = shutIn(all[0], "", c, l, now)
	r.fences = int32(roomIn(all[0], "", c, l, now))
	if len(all) == 1 || st.SelectedNodes == 0 {
		return r
	}
	s, domains, free, shut := all[1], map[string]bool{}, 0, 0
	for _, n := range c.Nodes {
		if isCounted(all[0], "", n) {
			domains[c.domain(s, n.Name)] = true
		}
	}
	for domain := range domains {
		unhealthy, total := count(s, domain, c, l)
		no, words := shutIn(s, domain, c, l, now)
		if no == "" {
			free += roomIn(s, domain, c, l, now)
		} else {
			shut++
		}
		st.Domains = append(st.Domains, api.DomainStatus{Name: domain, SelectedNodes: int32(total), UnhealthyNodes: int32(unhealthy), Message: clip.Message(words)})
	}
	slices.SortFunc(st.Domains, func(a, b api.DomainStatus) int { return strings.Compare(a.Name, b.Name) })
	st.Domains, st.DomainsCount = listed(st.Domains)
	r.fences = min(r.fences, int32(free))
	switch {
	case r.why != "":
	case shut == len(domains):
		r.why, r.words = api.TooManyUnhealthy, "a fence may begin in no domain: see status.domains"
	case shut > 0:
		r.words = fmt.Sprintf("%s; a fence may not begin in %d of %d domains: see status.domains", r.words, shut, len(domains))
	}
	return r
}

// shutIn is why no fence may begin in a scope: a storm, or the cool-down after it. The next
// failure is what is asked about: it counts too.
func shutIn(sc scope, domain string, c Picture, l *api.FenceLedger, now time.Time) (api.Reason, string) {
	if words := c.uncounted(sc.Policy); words != "" {
		return api.TooManyUnhealthy, words
	}
	unhealthy, total := count(sc, domain, c, l)
	may, numbers := mayBegin(sc, max(1, unhealthy), total)
	if !may {
		return api.TooManyUnhealthy, numbers
	}
	s := storm(l, sc, domain)
	if s == nil || Waived(l, s) {
		return "", numbers
	}
	over := *s // whose cool-down begins with the next who counts, if it has not
	if cooling(&over, sc.StormCoolDown.Duration, now) <= 0 {
		return "", numbers
	}
	if s.CoolDownUntil == nil {
		return api.StormCoolDown, "a storm has ended, and its cool-down is about to begin"
	}
	return api.StormCoolDown, "after a storm, until " + s.CoolDownUntil.UTC().Format(time.RFC3339)
}

// maxEffective bounds those sentences.
const maxEffective = 16

// inEffect says what holds on a policy's nodes now.
func inEffect(p *api.FencePolicy, lim api.ScopedLimits, st *api.FencePolicyStatus, all []api.FencePolicy, c Picture, now time.Time) []string {
	says := slices.Concat(limitsInEffect(lim, st), pauseInEffect(p, c, now), othersInEffect(p, lim, all, c))
	says = says[:min(len(says), maxEffective)]
	for i := range says {
		says[i] = clip.Message(says[i])
	}
	return says
}

// limitsInEffect are the policy's own limits, and its cool-down.
func limitsInEffect(lim api.ScopedLimits, st *api.FencePolicyStatus) []string {
	most, _ := shareOf(lim.MaxUnhealthy, int(st.SelectedNodes))
	says := []string{
		fmt.Sprintf("maxUnhealthy %d of %d", most, st.SelectedNodes),
		fmt.Sprintf("maxConcurrent %d", lim.MaxConcurrent),
	}
	if r := lim.MaxRate; r != nil {
		says = append(says, fmt.Sprintf("maxRate %d in %s", r.Count, r.Period.Duration))
	}
	if d := lim.PerDomain; d != nil {
		says = append(says, fmt.Sprintf("perDomain maxUnhealthy %s and maxConcurrent %d for each %s", d.MaxUnhealthy.String(), d.MaxConcurrent, d.TopologyKey))
	}
	if st.CoolDownUntil != nil {
		says = append(says, "cool-down until "+st.CoolDownUntil.UTC().Format(time.RFC3339))
	}
	return says
}

// pauseInEffect is the pause window that is open, or when the next one opens.
func pauseInEffect(p *api.FencePolicy, c Picture, now time.Time) []string {
	if len(p.Spec.PauseWindows) == 0 {
		return nil
	}
	if shut := policy.Closed([]policy.Windows{{Policy: p.Name, Windows: p.Spec.PauseWindows}}, c.Zones, now); shut != nil {
		return []string{shut.Message}
	}
	if next := policy.NextWindow(p.Spec.PauseWindows, c.Zones, now); !next.IsZero() {
		return []string{"next pause window at " + next.UTC().Format(time.RFC3339)}
	}
	return nil
}

// othersInEffect are the other policies whose limits hold for some of these nodes too.
func othersInEffect(p *api.FencePolicy, lim api.ScopedLimits, all []api.FencePolicy, c Picture) (says []string) {
	others := map[string]int{}
	for _, n := range c.Nodes {
		if n.Under != nil || !policy.Selects(lim.Selector, n.Labels) {
			continue
		}
		for i := range all {
			if o := &all[i]; o.Name != p.Name && o.DeletionTimestamp == nil && policy.Selects(o.Spec.Selector, n.Labels) {
				others[o.Name]++
			}
		}
	}
	for _, o := range slices.SortedFunc(maps.Keys(others), strings.Compare) {
		says = append(says, fmt.Sprintf("the limits of policy %s hold for %d of these nodes too", o, others[o]))
	}
	return says
}

// conflicting: on these nodes another policy has the same say, so that none of the two has any.
func conflicting(p *api.FencePolicy, all []api.FencePolicy, c Picture) (api.Reason, string) {
	nodes, other := []string{}, ""
	for _, n := range c.Nodes {
		r, ok := policy.ResolvePolicy(all, n.Name, n.Labels)
		if !ok || n.Under != nil || r.Settings.Conflict == "" || r.Policy.Name != p.Name && r.Settings.Conflict != p.Name {
			continue
		}
		nodes = append(nodes, n.Name)
		if other = r.Settings.Conflict; other == p.Name {
			other = r.Policy.Name
		}
	}
	if len(nodes) == 0 {
		return "", ""
	}
	return api.PolicyConflict, fmt.Sprintf("policy %s has the same precedence (%d) and selects %d of these nodes too, such as %s: none of them is fenced until one of the two has a lower spec.precedence, which decides, or another selector",
		other, policy.Precedence(p), len(nodes), nodes[0])
}
