package admission_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestLimits: each field of the limits, of budgets and of the rule of quorum
// changes a decision. The world is fencetest.World's: n0 of ten is dead and asks.
func TestLimits(t *testing.T) {
	hour := metav1.Duration{Duration: time.Hour}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *admission.Picture, *api.FenceLedger)
		want   api.Reason
	}{
		"at the share of the proposal's ConfigMap nothing begins": {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) {
			fencetest.Limits(f).SkipFrom = 10
		}, api.TooManyUnhealthy},
		"below that share it does": {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) { fencetest.Limits(f).SkipFrom = 11 }, ""},
		"a few percent of few nodes are one": {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) {
			fencetest.Limits(f).MaxUnhealthy = *fencetest.Percent("5%")
		}, ""},
		"no percent of them are none": {func(f *api.NodeFence, _ *admission.Picture, _ *api.FenceLedger) {
			fencetest.Limits(f).MaxUnhealthy = *fencetest.Percent("0%")
		}, api.TooManyUnhealthy},
		"a bad zone does not stop another": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Zones(f, c)
			for i := 5; i < 10; i++ {
				c.Nodes[i].Unhealthy = true
			}
		}, ""},
		"a bad zone is a storm in itself": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Zones(f, c)
			c.Nodes[1].Unhealthy, c.Nodes[2].Unhealthy, c.Nodes[3].Unhealthy = true, true, true
		}, api.TooManyUnhealthy},
		"a fence in another zone takes no slot of this one": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Zones(f, c)
			c.Fences = append(c.Fences, fencetest.Running("n7", "f7", api.Fencing))
		}, ""},
		"one in this zone does": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Zones(f, c)
			c.Fences = append(c.Fences, fencetest.Running("n2", "f2", api.Fencing))
		}, api.TooManyConcurrent},
		"and so does one in another under a total of one": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Zones(f, c)
			fencetest.Limits(f).MaxConcurrent = 1
			c.Fences = append(c.Fences, fencetest.Running("n7", "f7", api.Fencing))
		}, api.TooManyConcurrent},
		"a bad zone stops another under a total": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Zones(f, c)
			fencetest.Limits(f).MaxUnhealthy = *fencetest.Number(3)
			for i := 5; i < 10; i++ {
				c.Nodes[i].Unhealthy = true
			}
		}, api.TooManyUnhealthy},
		"a storm over all is not that of nodes without a zone": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.Zones(f, c)
			delete(c.Nodes[0].Labels, fencetest.ZoneKey)
			l.Status.Storms = []api.Storm{{Policy: "p", TopologyKey: "rack", Since: observed.StampOf(fencetest.Start)}}
		}, ""},
		"another zone's storm is not this one's": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.Zones(f, c)
			l.Status.Storms = []api.Storm{{Policy: "p", TopologyKey: fencetest.ZoneKey, Domain: "b", Since: observed.StampOf(fencetest.Start)}}
		}, ""},
		"a slot that a newer nodefence holds is held": {func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n2", "f2", "Tomorrow"))
			l.Status.Reservations = []api.Reservation{{NodeName: "n2", FenceUID: "f2", FenceNumber: 1, At: observed.StampOf(fencetest.Start.Add(-time.Hour))}}
		}, api.TooManyConcurrent},
		"and dropped in a phase that is known": {func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n2", "f2", api.Recovering))
			c.Fences[1].Status.MinReaderVersion = api.Schema + 1
			l.Status.Reservations = []api.Reservation{{NodeName: "n2", FenceUID: "f2", FenceNumber: 1, At: observed.StampOf(fencetest.Start.Add(-time.Hour))}}
		}, ""},
		"and none where it holds none": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n2", "f2", "Tomorrow"))
		}, ""},
		"as many as the rate allows": {func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: 2, Period: hour}
			fencetest.Admitted(l, "n3", 50*time.Minute)
		}, ""},
		"and no more": {func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: 2, Period: hour}
			fencetest.Admitted(l, "n3", 50*time.Minute)
			fencetest.Admitted(l, "n4", time.Minute)
		}, api.TooManyInATime},
		"until the oldest is past": {func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: 2, Period: hour}
			fencetest.Admitted(l, "n3", time.Hour)
			fencetest.Admitted(l, "n4", time.Minute)
		}, ""},
		"a fence that is decided again counts once": {func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxRate = &api.ResolvedRate{Count: 1, Period: hour}
			l.Status.Admitted = []api.Reservation{{NodeName: "n0", FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, At: observed.StampOf(fencetest.Start)}}
		}, ""},
		"a dead node needs no room in a budget": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[1].Unhealthy, c.Nodes[2].Unhealthy = true, true
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
		}, ""},
		"but a slot of it": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Limits(f).MaxConcurrent = 9
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Fencing))
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
		}, api.BudgetExhausted},
		"a budget that allows none still serves the dead": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.Budget(c, api.FenceBudgetSpec{MinAvailable: fencetest.Percent("100%")})
		}, ""},
		"a healthy node needs room": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[0].Unhealthy, c.Nodes[1].Unhealthy = false, true
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
		}, api.BudgetExhausted},
		"and begins where there is some": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[0].Unhealthy, c.Nodes[1].Unhealthy = false, true
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(2)})
		}, ""},
		"minAvailable leaves the rest": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[0].Unhealthy, c.Nodes[1].Unhealthy = false, true
			fencetest.Budget(c, api.FenceBudgetSpec{MinAvailable: fencetest.Percent("90%")})
		}, api.BudgetExhausted},
		"another set's budget is not ours": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Nodes[0].Unhealthy, c.Nodes[1].Unhealthy = false, true
			fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1), Selector: &api.LabelSelector{MatchLabels: map[string]string{"pets": "yes"}}})
		}, ""},
		"a control-plane node, never": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, true, true, true)
			f.Status.Decision.Settings.ControlPlane.Fence = api.Never
		}, api.ControlPlaneNode},
		"one of three may go": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true)
		}, ""},
		"not if another is down": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, false)
		}, api.EtcdQuorum},
		"two of five may be lost, one more may go": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, false, true, true, true)
		}, ""},
		"not if another's Lease stands still, Ready as it is (S13, S15)": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true)
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n1", Stale: true}}
		}, api.EtcdQuorum},
		"nor if it has missed one renewal": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true)
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n2"}}
		}, api.EtcdQuorum},
		"its own Lease says nothing of the others": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true)
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n0", Stale: true}, {NodeName: "n7"}}
		}, ""},
		"not if another is to be fenced itself": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true)
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Pending))
		}, api.EtcdQuorum},
		"of five one that waits leaves enough": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true, true, true)
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Pending))
		}, ""},
		"the only one may not": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) { fencetest.ControlPlane(f, c, true) }, api.EtcdQuorum},
		"members that can't be learnt mean no (S13)": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true)
			c.Etcd = nil
		}, api.EtcdQuorum},
		"one at a time, in recovery too": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true, true, true)
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Recovering))
		}, api.EtcdQuorum},
		"a worker on which etcd runs, never": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Etcd = map[string]bool{"n0": false}
		}, api.ControlPlaneNode},
		"a worker on which it does not": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Etcd = map[string]bool{"n1": false}
		}, ""},
		"a member of etcd on a worker is one too": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, false)
			c.Nodes[0].ControlPlane = false
		}, api.EtcdQuorum},
		"a control-plane node without etcd may go": {func(f *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			fencetest.ControlPlane(f, c, false, true, true, true)
			delete(c.Etcd, "n0")
		}, ""},
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		c.change(f, &cl, l)
		got := api.Reason("")
		v := admission.Admit(f, cl, l, fencetest.Start)
		if v != nil {
			got = v.Reason
		}
		if got != c.want || (v == nil) != (admission.ReservedAt(l, f) != nil) {
			t.Errorf("%s: %q, want %q (%+v)", name, got, c.want, v)
		}
	}
}

// TestAllAreServed: with room for one and three dead, one is fenced at a time
// until all are served.
func TestAllAreServed(t *testing.T) {
	_, c, l := fencetest.World(fencetest.Start)
	fencetest.Budget(&c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
	fences := map[string]*api.NodeFence{}
	for i := range 3 {
		c.Nodes[i].Unhealthy = true
		f, _, _ := fencetest.World(fencetest.Start)
		f.Name, f.Spec.NodeName, f.UID = c.Nodes[i].Name, c.Nodes[i].Name, types.UID("f-"+c.Nodes[i].Name)
		fences[f.Name] = f
	}
	for served := 0; served < 3; served++ {
		began := ""
		for name, f := range fences {
			if admission.Admit(f, c, l, fencetest.Start) == nil {
				if began != "" {
					t.Fatalf("%s and %s at once", began, name)
				}
				began = name
				c.Fences = append(c.Fences, fencetest.Running(name, f.UID, api.Fencing))
			}
		}
		if began == "" {
			t.Fatalf("nobody is fenced after %d", served)
		}
		delete(fences, began)
		c.Fences[len(c.Fences)-1].Status.Phase = api.Finished
		for i := range c.Nodes {
			c.Nodes[i].Unhealthy = c.Nodes[i].Unhealthy && c.Nodes[i].Name != began
		}
	}
}

// TestASelectorThatCannotBeRead fences nothing: nobody knows which nodes it means, and
// the API server takes labels that are none. Its limits hold for all.
func TestASelectorThatCannotBeRead(t *testing.T) {
	no := &api.LabelSelector{MatchLabels: map[string]string{"role": "not well"}}
	named := func(name string, precedence int32, spec api.FencePolicySpec) api.FencePolicy {
		spec.Precedence = &precedence
		return api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	all := named("all", 100, api.FencePolicySpec{})
	for name, c := range map[string]struct {
		policy   api.FencePolicy
		excluded string
	}{
		"of the nodes, where it decides":  {named("p", 1, api.FencePolicySpec{Selector: no}), "policy p, spec.selector: "},
		"of the nodes, where another one": {named("p", 200, api.FencePolicySpec{Selector: no}), ""},
		"of those that it leaves alone":   {named("p", 1, api.FencePolicySpec{Exclude: &api.ExcludedNodes{Selector: no}}), "policy p, spec.exclude.selector: "},
	} {
		r, ok := policy.ResolvePolicy([]api.FencePolicy{all, c.policy}, "n", nil)
		if !ok || len(r.Limits) != 2 || (r.Settings.Excluded == "") != (c.excluded == "") || !strings.HasPrefix(r.Settings.Excluded, c.excluded) {
			t.Errorf("%s: %v %q, %d limits", name, ok, r.Settings.Excluded, len(r.Limits))
		}
	}
	p := fencetest.Expecting()
	p.Spec.Machines = &api.MachinesRule{Selector: no, WithoutNode: new(api.DeleteMachine)}
	c := admission.Picture{Machines: []policy.Machine{fencetest.Machine("x", "", fencetest.Start.Add(-time.Hour), fencetest.FailedMachine)}}
	if failed, missing := admission.FailedNow(&p, c, fencetest.Start), admission.MissingNow(&p, c, fencetest.Start); len(failed) > 0 || len(missing) > 0 {
		t.Errorf("of Machines: %v %v", failed, missing)
	}
	_, cl, l := fencetest.World(fencetest.Start)
	st := admission.PolicyStatus(&p, []api.FencePolicy{p}, cl, l, fencetest.Start)
	if v := meta.FindStatusCondition(st.Conditions, admission.Accepted); v.Reason != string(api.SelectorInvalid) ||
		!strings.HasPrefix(v.Message, "policy p, spec.machines.selector: ") {
		t.Errorf("of Machines: %+v", v)
	}
}
