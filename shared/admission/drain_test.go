package admission_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// let is an entry of the ledger's draining list.
func let(node string, ago time.Duration) api.Reservation {
	return api.Reservation{NodeName: node, FenceUID: types.UID("f" + node[1:]), FenceNumber: 1, At: observed.StampOf(fencetest.Start.Add(-ago)), CountedBy: []api.CountedBy{{Policy: "p"}}}
}

// TestDrainsAreBounded: a node drains only within all limits, and no more of one policy at once than
// it has slots (S14). Two who ask at once are counted by one ledger. Nothing is reserved.
func TestDrainsAreBounded(t *testing.T) {
	type change func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger)
	seen := func(phase api.Phase, ago time.Duration) change {
		return func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n2", "f2", phase))
			if ago >= 0 {
				l.Status.Draining = []api.Reservation{let("n2", ago)}
			}
		}
	}
	for name, c := range map[string]struct {
		change change
		want   api.Reason
		listed string
	}{
		"nothing else is under way":                    {func(*api.NodeFence, *admission.Picture, *api.FenceLedger) {}, "", "[n0]"},
		"another drains":                               {seen(api.Draining, time.Hour), api.TooManyConcurrent, "[n2]"},
		"another drains, and the ledger does not know": {seen(api.Draining, -1), api.TooManyConcurrent, "[n2]"},
		"another was let drain a moment ago":           {seen(api.Pending, 5*time.Second), api.TooManyConcurrent, "[n2]"},
		"another was let drain, and never did":         {seen(api.Pending, 70*time.Second), "", "[n0]"},
		"another has drained, and is cut":              {seen(api.Fencing, 5*time.Second), api.TooManyConcurrent, "[]"},
		"another has ended":                            {seen(api.Finished, 5*time.Second), "", "[n0]"},
		"one whose record nobody has seen yet": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Draining = []api.Reservation{let("n3", 5*time.Second)}
		}, api.TooManyConcurrent, "[n3]"},
		"one whose record is gone": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Draining = []api.Reservation{let("n3", time.Hour)}
		}, "", "[n0]"},
		"under a limit of two": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			seen(api.Draining, time.Hour)(f, c, l)
			fencetest.Limits(f).MaxConcurrent = 2
		}, "", "[n0 n2]"},
		"a storm": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			for i := range 6 {
				c.Nodes[i].Unhealthy = true
			}
		}, api.TooManyUnhealthy, "[]"},
		"a fence is running": {func(_ *api.NodeFence, c *admission.Picture, _ *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n2", "f2", api.Fencing))
		}, api.TooManyConcurrent, "[]"},
		"a budget": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxConcurrent = 2
			seen(api.Draining, time.Hour)(f, c, l)
			c.Nodes[0].Unhealthy = false
			c.Budgets = []api.FenceBudget{{Spec: api.FenceBudgetSpec{Selector: &api.LabelSelector{}, MaxUnavailable: fencetest.Number(1)}}}
			c.Budgets[0].Name = "b"
		}, api.BudgetExhausted, "[n2]"},
	} {
		t.Run(name, func(t *testing.T) {
			f, picture, l := fencetest.World(fencetest.Start)
			c.change(f, &picture, l)
			v := admission.AdmitDrain(f, picture, l, fencetest.Start)
			got := api.Reason("")
			if v != nil {
				got = v.Reason
			}
			listed := []string{}
			for _, r := range l.Status.Draining {
				listed = append(listed, r.NodeName)
			}
			if len(listed) == 2 && listed[0] == "n2" {
				listed[0], listed[1] = listed[1], listed[0]
			}
			if got != c.want || fmt.Sprint(listed) != c.listed {
				t.Errorf("%q %v, listed %v; want %q, %s", got, v, listed, c.want, c.listed)
			}
			for _, r := range l.Status.Reservations {
				if r.NodeName == "n0" {
					t.Error("a slot is reserved")
				}
			}
		})
	}
}

// TestTwoAskToDrainAtOnce: the second sees the first by the ledger alone.
func TestTwoAskToDrainAtOnce(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	other := f.DeepCopy()
	other.Name, other.Spec.NodeName, other.UID = "n1", "n1", "f1"
	c.Fences = append(c.Fences, *other)
	if v := admission.AdmitDrain(f, c, l, fencetest.Start); v != nil {
		t.Fatal(v)
	}
	if v := admission.AdmitDrain(other, c, l, fencetest.Start.Add(time.Second)); v == nil || v.Reason != api.TooManyConcurrent {
		t.Errorf("the second: %+v", v)
	}
	if v := admission.AdmitDrain(f, c, l, fencetest.Start.Add(2*time.Second)); v != nil {
		t.Errorf("the first again: %+v", v)
	}
}

// TestADrainThatTakesLonger sends a fence that has cut nothing back to the gate; one that takes less
// does not, and neither does a record of a nodefence that drains nothing (S17).
func TestADrainThatTakesLonger(t *testing.T) {
	under := func(d *api.Drain) []api.FencePolicy {
		return []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Mode: api.ModeEnforce, Action: api.ActionReboot, Selector: &api.LabelSelector{}, Drain: d}}}
	}
	for name, c := range map[string]struct {
		was, is *api.Drain
		older   bool
		want    bool
	}{
		"as it was":             {nil, nil, false, false},
		"longer":                {nil, &api.Drain{Timeout: api.DurationOf(6 * time.Minute)}, false, true},
		"shorter":               {nil, &api.Drain{Timeout: api.DurationOf(time.Minute)}, false, false},
		"it gives up":           {nil, &api.Drain{OnTimeout: api.DrainThenGiveUp}, false, true},
		"it gives up no more":   {&api.Drain{OnTimeout: api.DrainThenGiveUp}, nil, false, false},
		"no drain gives up":     {nil, &api.Drain{Timeout: api.DurationOf(0), OnTimeout: api.DrainThenGiveUp}, false, false},
		"of an older nodefence": {nil, nil, true, false},
	} {
		f, _, l := fencetest.World(fencetest.Start)
		f.Status.Phase = api.Isolating
		f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(under(c.was), "n0", nil)
		if c.older {
			f.Status.Decision.Settings.Drain = api.DrainSettings{}
		}
		if b := admission.Against(f, under(c.is), observed.Node{Exists: true}, l, fencetest.Start); b.Stricter != c.want {
			t.Errorf("%s: stricter %v, %s", name, b.Stricter, b.Message)
		}
	}
}
