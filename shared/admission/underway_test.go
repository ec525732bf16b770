package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// budgetedWorld is a world in which n1 of the workers has been admitted, under a budget of
// one worker, and stands in this phase by now. The first one is the fence of n0, a
// worker too, that asks next.
func budgetedWorld(t *testing.T, p api.Phase) (*api.NodeFence, admission.Picture, *api.FenceLedger) {
	t.Helper()
	f, c, l := fencetest.World(fencetest.Start)
	fencetest.Limits(f).MaxConcurrent = 9
	for i := range c.Nodes {
		c.Nodes[i].Labels = map[string]string{"role": "worker"}
	}
	fencetest.Budget(&c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1), Selector: &api.LabelSelector{MatchLabels: map[string]string{"role": "worker"}}})
	c.Nodes[1].Unhealthy = true
	first := f.DeepCopy()
	first.Name, first.Spec.NodeName, first.Status.Decision.NodeUID, first.UID = "n1", "n1", "uid-n1", "f1"
	c.Fences = []api.NodeFence{*first}
	if v := admission.Admit(first, c, l, fencetest.Start); v != nil {
		t.Fatal(v)
	}
	c.Fences[0].Status.Phase = p
	c.Fences = append(c.Fences, *f)
	return f, c, l
}

// TestBudgetsRememberTheirNodes: a Node object that is deleted, or gets other labels, in
// the middle of its fence counts for the budgets that chose it until the fence has ended
// (S14).
func TestBudgetsRememberTheirNodes(t *testing.T) {
	relabelled := func(c *admission.Picture) { c.Nodes[1].Labels = map[string]string{"role": "none"} }
	expected := func(c *admission.Picture) {
		fencetest.NodeGone(c)
		p := fencetest.Expecting()
		p.Status.Missing = []api.MissingNode{{NodeName: "n1"}}
		*c = admission.WithMissing(*c, []api.FencePolicy{p})
	}
	lost := func(l *api.FenceLedger) { l.Status.UnderWay = nil }
	noSlot := func(l *api.FenceLedger) { l.Status.Reservations = nil }
	for name, c := range map[string]struct {
		phase  api.Phase
		change func(*admission.Picture)
		ledger func(*api.FenceLedger)
		// healthy: n0 is, and somebody asks for its fence.
		healthy bool
		want    api.Reason
	}{
		"its slot, while it is there":                {api.Fencing, func(*admission.Picture) {}, nil, false, api.BudgetExhausted},
		"its slot, when its Node object is gone":     {api.Fencing, fencetest.NodeGone, nil, false, api.BudgetExhausted},
		"its slot, when it is gone and expected":     {api.Fencing, expected, nil, false, api.BudgetExhausted},
		"its slot, when it is relabelled":            {api.Releasing, relabelled, nil, false, api.BudgetExhausted},
		"its slot, before it is used":                {api.Pending, fencetest.NodeGone, nil, false, api.BudgetExhausted},
		"released and gone, the dead need no room":   {api.PoweringOn, fencetest.NodeGone, nil, false, ""},
		"released and gone, a healthy one needs it":  {api.PoweringOn, fencetest.NodeGone, nil, true, api.BudgetExhausted},
		"recovering and relabelled, the same":        {api.Recovering, relabelled, nil, true, api.BudgetExhausted},
		"it has ended":                               {api.Finished, fencetest.NodeGone, nil, true, ""},
		"the ledger was lost, and it is gone":        {api.Fencing, fencetest.NodeGone, lost, false, api.BudgetExhausted},
		"the ledger was lost, and it is relabelled":  {api.Fencing, relabelled, lost, false, ""},
		"another set's budget, and it is gone":       {api.Fencing, func(c *admission.Picture) { c.Budgets[0].Name = "another"; fencetest.NodeGone(c) }, nil, true, ""},
		"a fence of a node that was missing then":    {api.Fencing, func(c *admission.Picture) { c.Fences[0].Status.Decision.NodeUID = ""; fencetest.NodeGone(c) }, lost, true, ""},
		"the record was deleted with its Node":       {api.Fencing, func(c *admission.Picture) { fencetest.NodeGone(c); c.Fences = c.Fences[1:] }, nil, true, ""},
		"its flow begins anew, and it has no slot":   {api.Pending, func(c *admission.Picture) { fencetest.NodeGone(c); c.Fences[0].Status.Restarts = 1 }, noSlot, true, api.BudgetExhausted},
		"one that was cut waits again":               {api.Pending, func(c *admission.Picture) { fencetest.NodeGone(c); c.Fences[0].Status.Power.SwitchedByUs = true }, noSlot, true, api.BudgetExhausted},
		"it only waits, and has no slot any more":    {api.Pending, fencetest.NodeGone, noSlot, true, ""},
		"a later fence of it waits, and has no slot": {api.Pending, func(c *admission.Picture) { fencetest.NodeGone(c); c.Fences[0].Status.FenceNumber++ }, nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, cl, l := budgetedWorld(t, c.phase)
			cl.Nodes[0].Unhealthy = !c.healthy
			c.change(&cl)
			if c.ledger != nil {
				c.ledger(l)
			}
			v := admission.Admit(f, cl, l, fencetest.Start)
			if got := fencetest.ReasonOf(v); got != c.want {
				t.Errorf("%q, want %q: %+v", got, c.want, v)
			}
		})
	}
}

// TestABudgetThatCameLater counts a node that it chose while the fence was under way.
func TestABudgetThatCameLater(t *testing.T) {
	f, c, l := budgetedWorld(t, api.Fencing)
	l.Status.UnderWay[0].Budgets = nil
	if v := admission.Admit(f, c, l, fencetest.Start); fencetest.ReasonOf(v) != api.BudgetExhausted {
		t.Fatal(v)
	}
	fencetest.NodeGone(&c)
	if v := admission.Admit(f, c, l, fencetest.Start); fencetest.ReasonOf(v) != api.BudgetExhausted {
		t.Error(v)
	}
}

// TestTwoThatAreAskedForAreServed: two healthy nodes, whose fences somebody asks for, and
// room for one. Neither waits for the other as long as neither has begun.
func TestTwoThatAreAskedForAreServed(t *testing.T) {
	_, c, l := fencetest.World(fencetest.Start)
	fencetest.Budget(&c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
	c.Nodes[0].Unhealthy = false
	c.Fences = nil
	for _, node := range []string{"n0", "n1"} {
		f, _, _ := fencetest.World(fencetest.Start)
		f.Name, f.Spec.NodeName, f.UID = node, node, types.UID("f-"+node)
		fencetest.Limits(f).MaxConcurrent = 9
		c.Fences = append(c.Fences, *f)
	}
	first, second := &c.Fences[0], &c.Fences[1]
	if s := admission.BudgetStatus(&c.Budgets[0], c, l, fencetest.Start); s.AvailableNodes != 10 || s.DisruptionsAllowed != 1 {
		t.Errorf("before: %+v", s)
	}
	for name, step := range []struct {
		f     *api.NodeFence
		phase api.Phase
		want  api.Reason
	}{
		{first, api.Pending, ""}, {second, api.Pending, api.BudgetExhausted}, {second, api.Fencing, api.BudgetExhausted},
		{second, api.Recovering, api.BudgetExhausted}, {second, api.Finished, ""},
	} {
		first.Status.Phase = step.phase
		if v := admission.Admit(step.f, c, l, fencetest.Start); fencetest.ReasonOf(v) != step.want {
			t.Errorf("%d: %+v, want %q", name, v, step.want)
		}
	}
}

// TestWhatIsUnderWayEnds with the fence; until then it shows in the budget's status.
func TestWhatIsUnderWayEnds(t *testing.T) {
	f, c, l := budgetedWorld(t, api.Recovering)
	want := []api.UnderWay{{NodeName: "n1", FenceUID: "f1", FenceNumber: 1, Budgets: []string{"b"}}}
	if d := cmp.Diff(want, l.Status.UnderWay); d != "" {
		t.Error(d)
	}
	l.Status.Reservations = nil
	got := admission.BudgetStatus(&c.Budgets[0], admission.Picture{Nodes: c.Nodes[2:], Fences: c.Fences, Budgets: c.Budgets}, l, fencetest.Start)
	if got.ExpectedNodes != 9 || got.AvailableNodes != 8 || got.FencingNodes != 0 || got.DisruptionsAllowed != 0 {
		t.Errorf("shown is %+v", got)
	}
	c.Fences[0].Status.Phase = api.Finished
	c.Budgets[0].Name = "another"
	want = []api.UnderWay{{NodeName: "n0", FenceUID: "f0", FenceNumber: 1, Budgets: []string{"another"}}}
	if v := admission.Admit(f, c, l, fencetest.Start); v != nil || !cmp.Equal(want, l.Status.UnderWay) {
		t.Errorf("%+v %s", v, cmp.Diff(want, l.Status.UnderWay))
	}
}

// TestAControlPlaneNodeThatIsGone: one at a time, also where the Node object of the first
// is deleted in the middle of its fence, and its pod of etcd with it (S13).
func TestAControlPlaneNodeThatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		phase  api.Phase
		change func(*admission.Picture, *api.FenceLedger)
		want   api.Reason
	}{
		"while its fence runs":         {api.Fencing, func(*admission.Picture, *api.FenceLedger) {}, api.EtcdQuorum},
		"while it recovers":            {api.Recovering, func(*admission.Picture, *api.FenceLedger) {}, api.EtcdQuorum},
		"when it has ended":            {api.Finished, func(*admission.Picture, *api.FenceLedger) {}, ""},
		"and the ledger was lost":      {api.Fencing, func(_ *admission.Picture, l *api.FenceLedger) { l.Status.UnderWay = nil }, api.EtcdQuorum},
		"a worker's fence is no other": {api.Fencing, func(_ *admission.Picture, l *api.FenceLedger) { l.Status.UnderWay[0].ControlPlane = false }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, cl, l := budgetedWorld(t, api.Pending)
			cl.Budgets, l.Status = nil, api.FenceLedgerStatus{Leases: l.Status.Leases}
			fencetest.ControlPlane(f, &cl, true, true, true, true, true)
			first := &cl.Fences[0]
			first.Status.Decision.ResolvedPolicy = f.Status.Decision.ResolvedPolicy
			if v := admission.Admit(first, cl, l, fencetest.Start); v != nil {
				t.Fatal(v)
			}
			first.Status.Phase = c.phase
			fencetest.NodeGone(&cl)
			delete(cl.Etcd, "n1")
			c.change(&cl, l)
			v := admission.Admit(f, cl, l, fencetest.Start)
			if got := fencetest.ReasonOf(v); got != c.want {
				t.Errorf("%q, want %q: %+v", got, c.want, v)
			}
		})
	}
}
