package fence

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestAPolicyThatFencesNothingSaysSo before a node fails, with the field that helps (S28).
func TestAPolicyThatFencesNothingSaysSo(t *testing.T) {
	two := func(c *Cluster) { c.Nodes = c.Nodes[:2] }
	q := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: api.FencePolicySpec{Selector: everyNode, Precedence: new(int32(7))}}
	for name, c := range map[string]struct {
		change func(*api.FencePolicy, *Cluster)
		others []api.FencePolicy
		why    api.Reason
		words  string
	}{
		"forty percent of ten":     {func(*api.FencePolicy, *Cluster) {}, nil, "", ""},
		"forty percent of two":     {func(_ *api.FencePolicy, c *Cluster) { two(c) }, nil, api.RoundsToNone, "no fence begins: if one failed, 1 of 2 nodes are unhealthy, maxUnhealthy is 40% (0); spec.limits.atLeastOne lets one begin"},
		"but one at least":         {func(p *api.FencePolicy, c *Cluster) { two(c); p.Spec.Limits.AtLeastOne = true }, nil, "", ""},
		"all healthy at all times": {func(p *api.FencePolicy, _ *Cluster) { p.Spec.Limits.MinHealthy = percent("100%") }, nil, api.RoundsToNone, "no fence begins: if one failed, 9 of 10 nodes are healthy, minHealthy is 100% (10); spec.limits.atLeastOne lets one begin"},
		"a zone of two": {func(p *api.FencePolicy, c *Cluster) {
			p.Spec.Limits.TopologyKey = zoneKey
			for i := range c.Nodes {
				c.Nodes[i].Labels = map[string]string{zoneKey: map[bool]string{true: "small", false: "big"}[i < 2]}
			}
		}, nil, api.RoundsToNone, "no fence begins, " + zoneKey + "=small: if one failed, 1 of 2 nodes are unhealthy, maxUnhealthy is 40% (0); spec.limits.atLeastOne lets one begin"},
		"no node at all":             {func(_ *api.FencePolicy, c *Cluster) { c.Nodes = nil }, nil, "", ""},
		"another of that precedence": {func(*api.FencePolicy, *Cluster) {}, []api.FencePolicy{q}, api.PolicyConflictHold, "policy q has the same precedence (7) and selects 10 of these nodes too, such as n0: none of them is fenced until one of the two has a lower spec.precedence, which decides, or another selector"},
		"another of a lower one":     {func(p *api.FencePolicy, _ *Cluster) { p.Spec.Precedence = new(int32(8)) }, []api.FencePolicy{q}, "", ""},
		"another for no node of it": {func(p *api.FencePolicy, _ *Cluster) {
			p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, []api.FencePolicy{q}, "", ""},
	} {
		_, cl, l := admitWorld(walkStart)
		cl.Fences = nil
		p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Selector: everyNode, Precedence: new(int32(7))}}
		c.change(&p, &cl)
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: effectiveCondition, Status: metav1.ConditionFalse, Reason: "Old"})
		st := PolicyStatus(&p, append(c.others, p), cl, l, walkStart)
		got := meta.FindStatusCondition(st.Conditions, effectiveCondition)
		if (got == nil) != (c.why == "") || got != nil && (got.Reason != string(c.why) || got.Message != c.words) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
