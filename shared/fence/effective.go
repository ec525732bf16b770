package fence

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// effectiveCondition is False, and there at all, while a policy fences nothing on some of its nodes
// by the way that it is written, which shows in no fence until one is due.
const effectiveCondition = "Effective"

// tellEffective sets that condition, or takes it away.
func tellEffective(p *api.FencePolicy, st *api.FencePolicyStatus, all []api.FencePolicy, c Cluster, now time.Time) {
	why, words := conflicting(p, all, c)
	if why == "" {
		why, words = roundsToNone(p, c)
	}
	if why == "" {
		meta.RemoveStatusCondition(&st.Conditions, effectiveCondition)
		return
	}
	meta.SetStatusCondition(&st.Conditions, metav1.Condition{
		Type: effectiveCondition, Status: metav1.ConditionFalse, Reason: string(why), Message: words, ObservedGeneration: p.Generation,
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	})
}

// conflicting: on these nodes another policy has the same say, so that none of the two has any.
func conflicting(p *api.FencePolicy, all []api.FencePolicy, c Cluster) (api.Reason, string) {
	nodes, other := []string{}, ""
	for _, n := range c.Nodes {
		r, ok := ResolvePolicy(all, n.Name, n.Labels)
		if !ok || r.Settings.Conflict == "" || r.Policy.Name != p.Name && r.Settings.Conflict != p.Name {
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
	return api.PolicyConflictHold, fmt.Sprintf("policy %s has the same precedence (%d) and selects %d of these nodes too, such as %s: none of them is fenced until one of the two has a lower spec.precedence, which decides, or another selector",
		other, precedence(p), len(nodes), nodes[0])
}

// roundsToNone: on so few nodes not even one that fails may be fenced.
func roundsToNone(p *api.FencePolicy, c Cluster) (api.Reason, string) {
	lim := api.ScopedLimits{Policy: p.Name, Selector: p.Spec.Selector.Kubernetes(), Limits: p.Spec.Limits}
	if lim.UnhealthyRange != "" {
		return "", ""
	}
	totals := map[string]int{}
	for _, n := range c.Nodes {
		if Selects(lim.Selector, n.Labels) {
			totals[c.domain(lim, n.Name)]++
		}
	}
	worst, found := "", false
	for domain, total := range totals {
		if no, _ := mayBegin(lim.Limits, 1, total); no != "" && (!found || domain < worst) {
			worst, found = domain, true
		}
	}
	if !found {
		return "", ""
	}
	_, words := mayBegin(lim.Limits, 1, totals[worst])
	return api.RoundsToNone, "no fence begins" + in(lim, worst) + ": if one failed, " + words + "; spec.limits.atLeastOne lets one begin"
}
