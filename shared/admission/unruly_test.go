package admission_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// unruly are gates with one fault each, and by which property each is caught.
var unruly = map[[2]string]gate{
	{"reads maxUnhealthy as its contrary", "maxUnhealthy"}:   shown(func(l *api.ScopedLimits) { l.MaxUnhealthy = mirrored(l.MaxUnhealthy) }),
	{"reads maxConcurrent as its contrary", "maxConcurrent"}: shown(func(l *api.ScopedLimits) { l.MaxConcurrent = max(1, 5-l.MaxConcurrent) }),
	{"reads perNode as its contrary", "perNode"}: {func(f *api.NodeFence, _ *admission.Picture) {
		most := &f.Status.Decision.Settings.PerNode.CutsPerDay
		*most = max(1, 5-*most)
	}, admission.Admit},
	{"reads stormCoolDown as its contrary", "stormCoolDown"}: shown(func(l *api.ScopedLimits) { l.StormCoolDown.Duration = 2*time.Minute - l.StormCoolDown.Duration }),
	{"counts a rate's fences down", "rate, more fences"}: shown(func(l *api.ScopedLimits) {
		if l.MaxRate != nil {
			l.MaxRate.Count = 4 - l.MaxRate.Count
		}
	}),
	{"counts a rate in what is left of the hour and a half", "rate, in less time"}: shown(func(l *api.ScopedLimits) {
		if l.MaxRate != nil {
			l.MaxRate.Period.Duration = 91*time.Minute - l.MaxRate.Period.Duration
		}
	}),
	{"reads a zone's maxUnhealthy as its contrary", "maxUnhealthy of a zone"}: shown(func(l *api.ScopedLimits) {
		if d := l.PerDomain; d != nil {
			d.MaxUnhealthy = mirrored(d.MaxUnhealthy)
		}
	}),
	{"reads a zone's maxConcurrent as its contrary", "maxConcurrent of a zone"}: shown(func(l *api.ScopedLimits) {
		if d := l.PerDomain; d != nil {
			d.MaxConcurrent = max(1, 5-d.MaxConcurrent)
		}
	}),
	{"reads the total beside a zone's as its contrary", "maxUnhealthy beside a zone's"}: shown(func(l *api.ScopedLimits) {
		if l.PerDomain != nil {
			l.MaxUnhealthy = mirrored(l.MaxUnhealthy)
		}
	}),
	{"reads the slots beside a zone's as their contrary", "maxConcurrent beside a zone's"}: shown(func(l *api.ScopedLimits) {
		if l.PerDomain != nil {
			l.MaxConcurrent = max(1, 5-l.MaxConcurrent)
		}
	}),
	{"takes a zone's limits in place of the totals", "no zones"}: shown(replaced),
	{"minds the deciding policy alone", "no policy besides"}:     {func(f *api.NodeFence, _ *admission.Picture) { f.Status.Decision.Limits = f.Status.Decision.Limits[:1] }, admission.Admit},
	{"minds the last policy alone", "no policy besides"}: {func(f *api.NodeFence, _ *admission.Picture) {
		f.Status.Decision.Limits = f.Status.Decision.Limits[len(f.Status.Decision.Limits)-1:]
	}, admission.Admit},
	{"takes the laxest of all policies", "no policy besides"}: {ours.show, func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) (v *observed.Verdict) {
		for _, one := range f.Status.Decision.Limits {
			g := f.DeepCopy()
			g.Status.Decision.Limits = []api.ScopedLimits{one}
			if v = admission.Admit(g, c, l.DeepCopy(), now); v == nil {
				return nil
			}
		}
		return v
	}},
	{"takes maxUnavailable for minAvailable", "a budget's minAvailable"}: {func(_ *api.NodeFence, c *admission.Picture) {
		for i := range c.Budgets {
			b := &c.Budgets[i].Spec
			b.MaxUnavailable, b.MinAvailable = b.MinAvailable, b.MaxUnavailable
		}
	}, admission.Admit},
	{"wants a budget for every node", "no budget"}: {ours.show, func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		if len(c.Budgets) == 0 {
			return &observed.Verdict{Reason: api.BudgetExhausted}
		}
		return admission.Admit(f, c, l, now)
	}},
	{"takes Never for the laxer rule", "controlPlane"}: {func(f *api.NodeFence, _ *admission.Picture) {
		f.Status.Decision.Settings.ControlPlane.Fence = map[api.ControlPlaneRule]api.ControlPlaneRule{api.Never: api.WithQuorum, api.WithQuorum: api.Never}[f.Status.Decision.Settings.ControlPlane.Fence]
	}, admission.Admit},
}

// shown is our gate that is shown other limits.
func shown(change func(*api.ScopedLimits)) gate {
	return gate{func(f *api.NodeFence, _ *admission.Picture) {
		for i := range f.Status.Decision.Limits {
			change(&f.Status.Decision.Limits[i])
		}
	}, admission.Admit}
}

func mirrored(v intstr.IntOrString) intstr.IntOrString {
	if v.Type == intstr.String {
		return v
	}
	return *fencetest.Number(max(0, 6-v.IntValue()))
}

// replaced: the domain's limit replaces the total.
func replaced(l *api.ScopedLimits) {
	if l.PerDomain != nil {
		l.MaxUnhealthy, l.MaxConcurrent = *fencetest.Percent("100%"), 1000
	}
}

func TestEveryUnrulyGateIsCaught(t *testing.T) {
	for name, g := range unruly {
		if at, _ := contradiction(g, laxer[name[1]], rand.New(rand.NewPCG(1, 0)), 6000); at == "" {
			t.Errorf("a gate that %s is not caught by %s", name[0], name[1])
		}
	}
}
