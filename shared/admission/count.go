package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// ailing are the nodes that count as unhealthy whatever their conditions say: a
// Lease that missed a renewal, or a fence that is open (S14, S15).
func ailing(c Picture, l *api.FenceLedger) map[string]bool {
	bad := stillIn(l.Status.Leases, c)
	for i := range c.Fences {
		if f := &c.Fences[i]; f.Open() {
			bad[f.Spec.NodeName] = true
		}
	}
	return bad
}

// count is over the nodes that the policy selects, in the domain.
func count(s scope, domain string, c Picture, l *api.FenceLedger) (unhealthy, total int) {
	bad := ailing(c, l)
	for _, n := range c.Nodes {
		if !isCounted(s, domain, n) {
			continue
		}
		total += n.many()
		if n.Unhealthy || bad[n.Name] {
			unhealthy += n.many()
		}
	}
	return unhealthy, total
}

// scope is one count under a policy's limits: over all nodes that it selects, or over those
// of one domain. Both hold.
type scope struct {
	api.ScopedLimits
	// key is the label that tells domains apart; empty for all nodes.
	key           string
	maxUnhealthy  intstr.IntOrString
	maxConcurrent int32
	// field is where the two stand in the policy.
	field string
}

// scopes are the counts of these limits: the total first, and always.
func scopes(lim api.ScopedLimits) []scope {
	all := []scope{{lim, "", lim.MaxUnhealthy, lim.MaxConcurrent, ""}}
	if d := lim.PerDomain; d != nil && d.TopologyKey != "" {
		all = append(all, scope{lim, d.TopologyKey, d.MaxUnhealthy, d.MaxConcurrent, "perDomain."})
	}
	return all
}

// within tells whether a node is one that the scope counts, for this domain.
func within(s scope, domain string, labels map[string]string) bool {
	return policy.Selects(s.Selector, labels) && (s.key == "" || labels[s.key] == domain)
}

// in is the domain in words.
func in(s scope, domain string) string {
	if s.key == "" {
		return ""
	}
	if domain == "" {
		return ", nodes without " + s.key
	}
	return ", " + s.key + "=" + domain
}

// isCounted tells whether the scope counts this node, for this domain.
func isCounted(s scope, domain string, n Node) bool {
	return within(s, domain, n.Labels) || slices.Contains(n.Under, s.Policy) && (s.key == "" || domain == "")
}

// shareOf is how many of so many nodes a limit allows: a percentage is rounded down, but
// is at least one unless it is 0%; 0 and 0% are none.
func shareOf(limit intstr.IntOrString, total int) (int, error) {
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, total, false)
	if err == nil && limit.Type == intstr.String && strings.TrimLeft(limit.StrVal, "0") != "%" {
		most = max(1, most)
	}
	return most, err
}

// mayBegin tells whether a fence may begin with so many of total unhealthy, and the
// numbers in words: it begins while unhealthy <= maxUnhealthy. The share of the proposal's
// ConfigMap is one at which nothing begins any more.
func mayBegin(s scope, unhealthy, total int) (bool, string) {
	if s.SkipFrom > 0 {
		skip := unhealthy*100 >= int(s.SkipFrom)*total
		return !skip, fmt.Sprintf("%d of %d nodes are unhealthy, fencing is skipped from %d%%", unhealthy, total, s.SkipFrom)
	}
	most, err := shareOf(s.maxUnhealthy, total)
	if err != nil {
		return false, fmt.Sprintf("%smaxUnhealthy %s can't be read", s.field, s.maxUnhealthy.String())
	}
	return unhealthy <= most, fmt.Sprintf("%d of %d nodes are unhealthy, %smaxUnhealthy is %s (%d)", unhealthy, total, s.field, s.maxUnhealthy.String(), most)
}

// NeverBegins says with its numbers that limits let no fence of this node begin, even
// while no other node is unhealthy, and which field helps; empty where they let one.
func NeverBegins(l api.ScopedLimits, c Picture, node string) string {
	for _, s := range scopes(l) {
		domain := c.domain(s, node)
		_, total := count(s, domain, c, &api.FenceLedger{})
		may, numbers := mayBegin(s, 1, total)
		if may {
			continue
		}
		help := "raise " + s.field + "maxUnhealthy"
		if s.SkipFrom > 0 {
			help = "raise the percentage"
		}
		return "policy " + l.Policy + in(s, domain) + ": with this node alone " + numbers + ", so that no fence ever begins; " + help
	}
	return ""
}

// domain is the value of the scope's topology key on a node; empty where it has none.
func (c Picture) domain(s scope, node string) string {
	if s.key == "" {
		return ""
	}
	return c.labels(node)[s.key]
}

// labelKeys are the keys by which policies and budgets tell nodes apart.
func labelKeys(policies []api.FencePolicy, budgets []api.FenceBudget) []string {
	keys := map[string]bool{}
	for i := range policies {
		p := &policies[i]
		keysOf(p.Spec.Selector, keys)
		if d := p.Spec.Limits.PerDomain; d != nil {
			keys[d.TopologyKey] = true
		}
	}
	for i := range budgets {
		keysOf(budgets[i].Spec.Selector, keys)
	}
	return slices.Sorted(maps.Keys(keys))
}

func keysOf(s *api.LabelSelector, keys map[string]bool) {
	if s == nil {
		return
	}
	for key := range s.MatchLabels {
		keys[key] = true
	}
	for _, r := range s.MatchExpressions {
		keys[r.Key] = true
	}
}
