package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// waiters are n0 and n1, both Ready, both with a fence that waits for a slot.
func waiters(change func(f *api.NodeFence)) (both [2]*api.NodeFence, c admission.Picture, l *api.FenceLedger) {
	f, c, l := fencetest.World(fencetest.Start)
	fencetest.Limits(f).MaxConcurrent = 9
	c.Nodes[0].Unhealthy, c.Fences = false, nil
	for i := range both {
		o := f.DeepCopy()
		o.Name, o.Spec.NodeName, o.UID = c.Nodes[i].Name, c.Nodes[i].Name, types.UID("f-"+c.Nodes[i].Name)
		o.Status.Decision.Trigger, o.Status.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me", Type: "t"}}
		change(o)
		both[i] = o
		c.Fences = append(c.Fences, *o)
	}
	return both, c, l
}

// oneAfterTheOther: the first gets a slot, the second only once the first has ended.
func oneAfterTheOther(t *testing.T, both [2]*api.NodeFence, c admission.Picture, l *api.FenceLedger, holds api.Reason) {
	t.Helper()
	if v := admission.Admit(both[1], c, l, fencetest.Start); fencetest.ReasonOf(v) != holds {
		t.Errorf("the second, before the first: %+v", v)
	}
	if v := admission.Admit(both[0], c, l, fencetest.Start); v != nil {
		t.Fatalf("the first: %+v", v)
	}
	for _, p := range []api.Phase{api.Pending, api.Probing, api.Isolating, api.Fencing, api.Recovering} {
		c.Fences[0].Status.Phase = p
		if v := admission.Admit(both[1], c, l, fencetest.Start); fencetest.ReasonOf(v) != holds {
			t.Errorf("the second, while the first is %s: %+v", p, v)
		}
	}
	c.Fences[0].Status.Phase = api.Finished
	if v := admission.Admit(both[1], c, l, fencetest.Start); v != nil {
		t.Errorf("the second, once the first has ended: %+v", v)
	}
}

// TestTwoThatWaitDoNotHoldEachOther for ever, and are never under way at once (S13, S14).
func TestTwoThatWaitDoNotHoldEachOther(t *testing.T) {
	cut, just := observed.StampOf(fencetest.Start.Add(-time.Hour)), observed.StampOf(fencetest.Start.Add(-2*time.Second))
	t.Run("two of etcd's members that were asked for", func(t *testing.T) {
		both, c, l := waiters(func(f *api.NodeFence) { f.Status.Decision.Settings.ControlPlane.Fence = api.WithQuorum })
		c.Etcd = map[string]bool{"n0": true, "n1": true, "n2": true}
		oneAfterTheOther(t, both, c, l, api.EtcdQuorum)
	})
	one := func(c *admission.Picture) {
		fencetest.Budget(c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
	}
	t.Run("two that were cut long ago and wait again, under a budget of one", func(t *testing.T) {
		both, c, l := waiters(func(f *api.NodeFence) { f.Status.Power.SwitchedByUs, f.Status.Power.CutAt = true, &cut })
		one(&c)
		oneAfterTheOther(t, both, c, l, api.BudgetExhausted)
	})
	t.Run("two whose flow began anew and that were never cut", func(t *testing.T) {
		for i := range 2 {
			both, c, l := waiters(func(f *api.NodeFence) { f.Status.Restarts = 1 })
			one(&c)
			if v := admission.Admit(both[i], c, l, fencetest.Start); v != nil {
				t.Errorf("%s: %+v", both[i].Name, v)
			}
			c.Fences[i].Status.Phase = api.Fencing
			if v := admission.Admit(both[1-i], c, l, fencetest.Start); fencetest.ReasonOf(v) != api.BudgetExhausted {
				t.Errorf("beside %s: %+v", both[i].Name, v)
			}
		}
	})
	for name, change := range map[string]func(*admission.Picture, *api.FenceLedger){
		"one was cut just now":     func(c *admission.Picture, _ *api.FenceLedger) { c.Fences[1].Status.Power.CutAt = &just },
		"one has released already": func(c *admission.Picture, _ *api.FenceLedger) { c.Fences[1].Status.Release.StartedAt = &cut },
		"one is not Ready":         func(c *admission.Picture, _ *api.FenceLedger) { c.Nodes[1].Unhealthy = true },
		"one's Lease stands still": func(_ *admission.Picture, l *api.FenceLedger) {
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n1"}}
		},
		"one has no Node any more": func(c *admission.Picture, _ *api.FenceLedger) { fencetest.NodeGone(c) },
	} {
		both, c, l := waiters(func(f *api.NodeFence) { f.Status.Power.SwitchedByUs, f.Status.Power.CutAt = true, &cut })
		one(&c)
		change(&c, l)
		if v := admission.Admit(both[0], c, l, fencetest.Start); fencetest.ReasonOf(v) != api.BudgetExhausted {
			t.Errorf("%s: %+v", name, v)
		}
	}
	both, c, l := waiters(func(f *api.NodeFence) {
		f.Status.Decision.Settings.ControlPlane.Fence = api.WithQuorum
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: metav1.NewMicroTime(fencetest.Start)}
	})
	c.Etcd = map[string]bool{"n0": true, "n1": true, "n2": true}
	if v := admission.Admit(both[0], c, l, fencetest.Start); fencetest.ReasonOf(v) != api.EtcdQuorum {
		t.Errorf("a member that failed is relied on: %+v", v)
	}
}

// TestClocksApart: as far as API servers' clocks were seen apart, so much longer a
// reservation counts (S14); and one of the future is no yes, it is asked for anew (S17).
func TestClocksApart(t *testing.T) {
	for name, c := range map[string]struct {
		age, apart time.Duration
		want       api.Reason
	}{
		"kept a little longer than it is valid": {facts.DecisionValidity + 4*time.Second, 0, api.TooManyConcurrent},
		"and no longer":                         {facts.DecisionValidity + 6*time.Second, 0, ""},
		"but where clocks were seen apart":      {facts.DecisionValidity + 6*time.Second, 9 * time.Second, api.TooManyConcurrent},
		"by so much":                            {facts.DecisionValidity + 15*time.Second, 9 * time.Second, ""},
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		other := fencetest.Running("n1", "f1", api.Pending)
		cl.Fences, cl.Apart = append(cl.Fences, other), c.apart
		l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "f1", FenceNumber: 1, At: observed.StampOf(fencetest.Start.Add(-c.age)), CountedBy: []api.CountedBy{{Policy: "p"}}}}
		if v := admission.Admit(f, cl, l, fencetest.Start); fencetest.ReasonOf(v) != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
	f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	f.Status.Phase, f.Status.FenceNumber, f.Status.MinReaderVersion = api.Pending, 1, api.Schema
	seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
	ahead := fencetest.Start.Add(time.Hour)
	seen.Reserved = &ahead
	if st, act := fence.Decide(f, seen, fencetest.Start); act != fence.Reserve {
		t.Errorf("reserved in an hour: %s, %s", st.Phase, act)
	}
}
