package admission_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/policy"
)

// threeZones are twelve nodes in three zones, two of each dead, of which all ask. In all one
// may be fenced at a time, and one in each zone.
func threeZones() (asks []*api.NodeFence, c admission.Picture, l *api.FenceLedger) {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Limits: api.Limits{
		MaxUnhealthy: fencetest.Percent("100%"), MaxConcurrent: new(int32(1)), PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxConcurrent: new(int32(1))},
	}}}
	_, c, l = fencetest.World(fencetest.Start)
	c.Nodes, c.Fences = nil, nil
	for i := range 12 {
		n := admission.Node{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{fencetest.ZoneKey: string("abc"[i%3])}, Unhealthy: i < 6}
		c.Nodes = append(c.Nodes, n)
		if !n.Unhealthy {
			continue
		}
		r, _ := policy.ResolvePolicy([]api.FencePolicy{p}, n.Name, n.Labels)
		f := fencetest.Running(n.Name, types.UID("f-"+n.Name), api.Pending)
		f.Status.Decision.ResolvedPolicy = r
		c.Fences = append(c.Fences, f)
	}
	for i := range c.Fences {
		asks = append(asks, &c.Fences[i])
	}
	return asks, c, l
}

// atOnce is the most fences that ever run together while all are served.
func atOnce(g gate) (most int, served int) {
	asks, c, l := threeZones()
	for range 2 * len(asks) {
		for _, f := range asks {
			shown := f.DeepCopy()
			g.show(shown, &c)
			if f.Status.Phase == api.Pending && g.admit(shown, c, l, fencetest.Start) == nil {
				f.Status.Phase = api.Fencing
			}
		}
		most = max(most, len(l.Status.Reservations))
		for i, f := range asks {
			if f.Status.Phase == api.Fencing {
				f.Status.Phase = api.Finished
				c.Nodes[i].Unhealthy = false
				served++
			}
		}
	}
	return most, served
}

// TestThreeZonesFailAtOnce: limits of a zone hold besides the totals, and never in their
// place (S14).
func TestThreeZonesFailAtOnce(t *testing.T) {
	if most, served := atOnce(ours); most != 1 || served != 6 {
		t.Errorf("%d at a time, %d served", most, served)
	}
	if most, _ := atOnce(shown(replaced)); most != 3 {
		t.Errorf("a gate for which a domain's limit replaces the total is not told apart: %d at a time", most)
	}
}

// TestSmallPools: under the default limits a pool of one node is fenced, and one node at a
// time of a pool of two; where both are dead it is a storm.
func TestSmallPools(t *testing.T) {
	for _, c := range []struct {
		nodes, dead int
		limits      api.Limits
		want        api.Reason
	}{
		{1, 1, api.Limits{}, ""}, {2, 1, api.Limits{}, ""}, {2, 2, api.Limits{}, api.TooManyUnhealthy},
		{1, 1, api.Limits{MaxUnhealthy: fencetest.Percent("0%")}, api.TooManyUnhealthy}, {10, 1, api.Limits{MaxUnhealthy: fencetest.Number(0)}, api.TooManyUnhealthy},
		{2, 1, api.Limits{PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: fencetest.Percent("0%")}}, api.TooManyUnhealthy},
		{2, 1, api.Limits{PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: fencetest.Percent("10%")}}, ""},
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		l.Status.Leases.Total = int32(c.nodes)
		cl.Nodes = cl.Nodes[:c.nodes]
		for i := range c.dead {
			cl.Nodes[i].Unhealthy = true
		}
		f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy([]api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Limits: c.limits}}}, "n0", nil)
		if v := admission.Admit(f, cl, l, fencetest.Start); fencetest.ReasonOf(v) != c.want {
			t.Errorf("%d of %d: %+v, want %q", c.dead, c.nodes, v, c.want)
		}
	}
}

// TestABudgetOfNone forbids, also where nodes are dead; minAvailable serves those still.
func TestABudgetOfNone(t *testing.T) {
	for spec, want := range map[*api.FenceBudgetSpec]api.Reason{
		{MaxUnavailable: fencetest.Number(0)}: api.BudgetExhausted, {MaxUnavailable: fencetest.Percent("0%")}: api.BudgetExhausted,
		{MaxUnavailable: fencetest.Percent("1%")}: "", {MinAvailable: fencetest.Percent("100%")}: "",
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		fencetest.Budget(&cl, *spec)
		if v := admission.Admit(f, cl, l, fencetest.Start); fencetest.ReasonOf(v) != want {
			t.Errorf("%v %v: %+v", spec.MaxUnavailable, spec.MinAvailable, v)
		}
	}
}
