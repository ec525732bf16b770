package fence

import (
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// unruly are gates with one fault each, and by which property each is caught.
var unruly = map[[2]string]gate{
	{"reads maxUnhealthy as its contrary", "maxUnhealthy"}: shown(func(l *api.Limits) { l.MaxUnhealthy = mirrored(l.MaxUnhealthy) }),
	{"reads minHealthy as maxUnhealthy", "minHealthy"}: shown(func(l *api.Limits) {
		if l.MinHealthy != nil {
			l.MaxUnhealthy, l.MinHealthy = l.MinHealthy, nil
		}
	}),
	{"reads maxConcurrent as its contrary", "maxConcurrent"}: shown(func(l *api.Limits) { l.MaxConcurrent = max(1, 5-l.MaxConcurrent) }),
	{"reads perNodePerDay as its contrary", "perNodePerDay"}: shown(func(l *api.Limits) { l.PerNodePerDay = max(1, 5-l.PerNodePerDay) }),
	{"reads stormCoolDown as its contrary", "stormCoolDown"}: shown(func(l *api.Limits) { l.StormCoolDown.Duration = 2*time.Minute - l.StormCoolDown.Duration }),
	{"takes atLeastOne for at most one", "atLeastOne"}: shown(func(l *api.Limits) {
		if l.AtLeastOne {
			l.MaxUnhealthy, l.MinHealthy, l.UnhealthyRange = number(1), nil, ""
		}
	}),
	{"takes the ends of a range for each other", "unhealthyRange, its upper end"}: shown(func(l *api.Limits) { ranged(l, func(a, b int) (int, int) { return b - 1, a + 2 }) }),
	{"counts a rate's fences down", "rate, more fences"}: shown(func(l *api.Limits) {
		if l.Rate != nil {
			l.Rate.Fences = 4 - l.Rate.Fences
		}
	}),
	{"counts a rate in what is left of the hour and a half", "rate, in less time"}: shown(func(l *api.Limits) {
		if l.Rate != nil {
			l.Rate.Within.Duration = 91*time.Minute - l.Rate.Within.Duration
		}
	}),
	{"takes its own limit for none where there is a zone", "maxUnhealthy of a zone"}: shown(func(l *api.Limits) {
		if l.TopologyKey != "" {
			l.MaxUnhealthy = mirrored(l.MaxUnhealthy)
		}
	}),
	{"minds the deciding policy alone", "no policy besides"}: {func(f *api.NodeFence, _ *Cluster) { f.Spec.Decision.Limits = f.Spec.Decision.Limits[:1] }, Admit},
	{"minds the last policy alone", "no policy besides"}: {func(f *api.NodeFence, _ *Cluster) {
		f.Spec.Decision.Limits = f.Spec.Decision.Limits[len(f.Spec.Decision.Limits)-1:]
	}, Admit},
	{"takes the laxest of all policies", "no policy besides"}: {ours.show, func(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) (v *Verdict) {
		for _, one := range f.Spec.Decision.Limits {
			g := f.DeepCopy()
			g.Spec.Decision.Limits = []api.ScopedLimits{one}
			if v = Admit(g, c, l.DeepCopy(), now); v == nil {
				return nil
			}
		}
		return v
	}},
	{"takes maxUnavailable for minAvailable", "a budget's minAvailable"}: {func(_ *api.NodeFence, c *Cluster) {
		for i := range c.Budgets {
			b := &c.Budgets[i].Spec
			b.MaxUnavailable, b.MinAvailable = b.MinAvailable, b.MaxUnavailable
		}
	}, Admit},
	{"wants a budget for every node", "no budget"}: {ours.show, func(f *api.NodeFence, c Cluster, l *api.FenceLedger, now time.Time) *Verdict {
		if len(c.Budgets) == 0 {
			return &Verdict{Reason: api.BudgetHold}
		}
		return Admit(f, c, l, now)
	}},
	{"takes Never for the laxer rule", "controlPlane"}: {func(f *api.NodeFence, _ *Cluster) {
		f.Spec.Decision.Settings.ControlPlane.Fence = map[api.ControlPlaneRule]api.ControlPlaneRule{api.Never: api.WithQuorum, api.WithQuorum: api.Never}[f.Spec.Decision.Settings.ControlPlane.Fence]
	}, Admit},
}

// shown is our gate that is shown other limits.
func shown(change func(*api.Limits)) gate {
	return gate{func(f *api.NodeFence, _ *Cluster) {
		for i := range f.Spec.Decision.Limits {
			change(&f.Spec.Decision.Limits[i].Limits)
		}
	}, Admit}
}

func mirrored(v *intstr.IntOrString) *intstr.IntOrString {
	if v == nil || v.Type == intstr.String {
		return v
	}
	return number(max(0, 6-v.IntValue()))
}

func TestEveryUnrulyGateIsCaught(t *testing.T) {
	for name, g := range unruly {
		if at, _ := contradiction(g, laxer[name[1]], rand.New(rand.NewPCG(1, 0)), 6000); at == "" {
			t.Errorf("a gate that %s is not caught by %s", name[0], name[1])
		}
	}
}
