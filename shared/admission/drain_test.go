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
	drained := func(end api.DrainEnd, ago time.Duration) change {
		return func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			seen(api.Pending, ago)(f, c, l)
			at := observed.StampOf(fencetest.Start)
			c.Fences[len(c.Fences)-1].Status.Drain = &api.DrainRecord{EndedAt: &at, Ended: end}
		}
	}
	// late is a picture that shows a fence of n2 as it was before n2 was let drain.
	late := func(ago time.Duration, as func(*api.NodeFence)) change {
		return func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			o := fencetest.Running("n2", "f2", api.Finished)
			o.ResourceVersion = "8"
			as(&o)
			c.Fences = append(c.Fences, o)
			l.Status.Draining = []api.Reservation{let("n2", ago)}
			l.Status.Draining[0].FenceVersion = "8"
		}
	}
	for name, c := range map[string]struct {
		change change
		want   api.Reason
		listed string
	}{
		"another has drained, and waits for a slot":       {drained(api.DrainEmpty, 10*time.Minute), api.TooManyConcurrent, "[n2]"},
		"another timed out, and the ledger does not know": {drained(api.DrainTimeIsOver, -1), api.TooManyConcurrent, "[n2]"},
		"another is between two parts of its drain":       {drained("", 10*time.Minute), api.TooManyConcurrent, "[n2]"},
		"another was cut since, and waits for another slot": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			drained(api.DrainEmpty, 10*time.Minute)(f, c, l)
			c.Fences[len(c.Fences)-1].Status.Power.SwitchedByUs = true
		}, "", "[n0]"},
		"another gave up, and is given back":              {drained(api.DrainGivenUp, 10*time.Minute), "", "[n0]"},
		"another, whose record is seen as that of before": {late(5*time.Second, func(o *api.NodeFence) { o.UID = "before" }), api.TooManyConcurrent, "[n2]"},
		"another, whose fence of before is seen":          {late(5*time.Second, func(o *api.NodeFence) { o.Status.FenceNumber = 0 }), api.TooManyConcurrent, "[n2]"},
		"another, whose fence is seen as of before":       {late(5*time.Second, func(o *api.NodeFence) { o.ResourceVersion = "7" }), api.TooManyConcurrent, "[n2]"},
		"another, whose fence of before is seen for long": {late(70*time.Second, func(o *api.NodeFence) { o.UID = "before" }), "", "[n0]"},
		"another, whose next fence is seen":               {late(5*time.Second, func(o *api.NodeFence) { o.Status.FenceNumber, o.Status.Phase = 2, api.Pending }), "", "[n0]"},
		"one whose record is gone, and the clock was set back": {func(_ *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Draining = []api.Reservation{let("n3", -time.Hour)}
		}, "", "[n0]"},
		"a budget, and another has drained": {func(f *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			fencetest.Limits(f).MaxConcurrent = 9
			drained(api.DrainEmpty, 10*time.Minute)(f, c, l)
			c.Nodes[0].Unhealthy = false
			fencetest.Budget(c, api.FenceBudgetSpec{Selector: &api.LabelSelector{}, MaxUnavailable: fencetest.Number(1)})
		}, api.BudgetExhausted, "[n2]"},
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

// TestTwoHaveDrained: under a budget of one they are cut one after the other, and neither waits for the
// other. A healthy node that gave nothing away waits for both (S14).
func TestTwoHaveDrained(t *testing.T) {
	_, c, l := fencetest.World(fencetest.Start)
	fencetest.Budget(&c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
	c.Nodes[0].Unhealthy, c.Fences = false, nil
	for _, node := range []string{"n0", "n1", "n2"} {
		f, _, _ := fencetest.World(fencetest.Start)
		f.Name, f.Spec.NodeName, f.UID = node, node, types.UID("f-"+node)
		fencetest.Limits(f).MaxConcurrent = 9
		if node != "n0" {
			f.Status.Drain = &api.DrainRecord{Ended: api.DrainEmpty}
		}
		c.Fences = append(c.Fences, *f)
	}
	bare, first, second := &c.Fences[0], &c.Fences[1], &c.Fences[2]
	if s := admission.BudgetStatus(&c.Budgets[0], c, l, fencetest.Start); s.AvailableNodes != 8 || s.DisruptionsAllowed != 0 {
		t.Errorf("before: %+v", s)
	}
	for i, step := range []struct {
		f     *api.NodeFence
		phase api.Phase
		want  api.Reason
	}{
		{bare, api.Pending, api.BudgetExhausted}, {second, api.Pending, api.BudgetExhausted}, {first, api.Pending, ""},
		{second, api.Fencing, api.BudgetExhausted}, {second, api.Finished, ""},
	} {
		first.Status.Phase = step.phase
		if v := admission.Admit(step.f, c, l, fencetest.Start); fencetest.ReasonOf(v) != step.want {
			t.Errorf("%d: %+v, want %q", i, v, step.want)
		}
	}
}

// TestADrainedMemberOfEtcd: it runs its etcd. It does not hold the fence of a member that has failed,
// goes before one that was only asked for, and is not cut beside another (S13).
func TestADrainedMemberOfEtcd(t *testing.T) {
	healthy := func(f *api.NodeFence, c *admission.Picture) { c.Nodes[0].Unhealthy, c.Etcd["n0"] = false, true }
	for name, c := range map[string]struct {
		members int
		phase   api.Phase
		end     api.DrainEnd
		change  func(f *api.NodeFence, c *admission.Picture)
		asks    string
		want    api.Reason
	}{
		"a failed one, while it drains":     {3, api.Draining, "", nil, "n0", ""},
		"a failed one, once it has drained": {3, api.Pending, api.DrainEmpty, nil, "n0", ""},
		"a failed one, while it is cut":     {5, api.Fencing, api.DrainEmpty, nil, "n0", api.EtcdQuorum},
		"a failed one, and a condition of it does": {3, api.Draining, "", func(_ *api.NodeFence, c *admission.Picture) {
			c.Fences[1].Status.Decision.Trigger.Type = api.TriggerNodeCondition
		}, "n0", api.EtcdQuorum},
		"a failed one, and it is not Ready":    {3, api.Draining, "", func(_ *api.NodeFence, c *admission.Picture) { c.Nodes[1].Unhealthy, c.Etcd["n1"] = true, false }, "n0", api.EtcdQuorum},
		"a healthy one, while it drains":       {5, api.Draining, "", healthy, "n0", api.EtcdQuorum},
		"a healthy one, once it has drained":   {3, api.Pending, api.DrainEmpty, healthy, "n0", api.EtcdQuorum},
		"itself, beside a failed one":          {3, api.Pending, api.DrainEmpty, nil, "n1", api.EtcdQuorum},
		"itself, beside one that is asked for": {3, api.Pending, api.DrainEmpty, healthy, "n1", ""},
		"itself, beside one that is cut": {5, api.Pending, api.DrainEmpty, func(f *api.NodeFence, c *admission.Picture) {
			healthy(f, c)
			c.Fences[0].Status.Phase = api.Fencing
		}, "n1", api.EtcdQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			f, picture, l := fencetest.World(fencetest.Start)
			fencetest.Limits(f).MaxConcurrent = 9
			f.Status.Decision.Trigger.Type = api.TriggerRequest
			ok := []bool{false, true, true, true, true}
			fencetest.ControlPlane(f, &picture, ok[:c.members]...)
			other := f.DeepCopy()
			other.Name, other.Spec.NodeName, other.UID = "n1", "n1", "f1"
			other.Status.Phase, other.Status.Drain = c.phase, &api.DrainRecord{Ended: c.end}
			picture.Fences = []api.NodeFence{*f, *other}
			if c.change != nil {
				c.change(f, &picture)
			}
			asks := &picture.Fences[0]
			if c.asks == "n1" {
				asks = &picture.Fences[1]
			}
			if v := admission.Admit(asks, picture, l, fencetest.Start); fencetest.ReasonOf(v) != c.want {
				t.Errorf("%+v, want %q", v, c.want)
			}
		})
	}
}

// TestACensusFromBeforeADrain: what was let drain since the census counts, as a slot does (S14).
func TestACensusFromBeforeADrain(t *testing.T) {
	for name, c := range map[string]struct {
		ago   time.Duration
		want  api.Reason
		lacks bool
	}{
		"a moment ago": {5 * time.Second, api.BudgetExhausted, false},
		"long ago":     {70 * time.Second, "", true},
		"in times to come, as the clock was set back": {-time.Hour, "", true},
	} {
		f, picture, l := fencetest.World(fencetest.Start)
		f.ResourceVersion = "7"
		fencetest.Limits(f).MaxConcurrent = 9
		picture.Nodes[0].Unhealthy = false
		p, b := fencetest.LivePolicy(), api.FenceBudget{Spec: api.FenceBudgetSpec{Selector: &api.LabelSelector{}, MaxUnavailable: fencetest.Number(1)}}
		w := admission.Watched{Nodes: picture.Nodes, Fences: []*api.NodeFence{f}, Policies: []api.FencePolicy{p}, Budgets: []api.FenceBudget{b}, Leases: l.Status.Leases, Admitted: []api.Reservation{{NodeName: "n3"}}}
		l.Status.Census = admission.TakeCensus(w, fencetest.Start)
		l.Status.Draining = []api.Reservation{let("n3", c.ago)}
		l.Status.UnderWay = []api.UnderWay{{NodeName: "n3", FenceUID: "f3", FenceNumber: 1, Budgets: []string{""}}}
		o, lacks := admission.ByCensus(l, f, nodeOf(picture, "n0"), nil, nil, w.Policies, w.Budgets, fencetest.Start)
		if (lacks != "") != c.lacks {
			t.Errorf("%s: it lacks %q", name, lacks)
		}
		if lacks != "" {
			continue
		}
		if v := admission.Admit(f, admission.NewPicture(o), l, fencetest.Start); fencetest.ReasonOf(v) != c.want {
			t.Errorf("%s: %+v, want %q", name, v, c.want)
		}
	}
}

// TestADrainThatTakesLonger sends a fence that has cut nothing back to the gate; one that takes less
// does not, and neither does a record that names no drain (S17).
func TestADrainThatTakesLonger(t *testing.T) {
	under := func(d *api.Drain) []api.FencePolicy {
		return []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Mode: api.ModeEnforce, Action: api.ActionReboot, Selector: &api.LabelSelector{}, Drain: d}}}
	}
	for name, c := range map[string]struct {
		was, is *api.Drain
		noDrain bool
		want    bool
	}{
		"as it was":             {nil, nil, false, false},
		"longer":                {nil, &api.Drain{Timeout: api.DurationOf(6 * time.Minute)}, false, true},
		"shorter":               {nil, &api.Drain{Timeout: api.DurationOf(time.Minute)}, false, false},
		"it gives up":           {nil, &api.Drain{OnTimeout: api.DrainThenGiveUp}, false, true},
		"it gives up no more":   {&api.Drain{OnTimeout: api.DrainThenGiveUp}, nil, false, false},
		"no drain gives up":     {nil, &api.Drain{Timeout: api.DurationOf(0), OnTimeout: api.DrainThenGiveUp}, false, false},
		"the record names none": {nil, nil, true, false},
	} {
		f, _, l := fencetest.World(fencetest.Start)
		f.Status.Phase = api.Isolating
		f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(under(c.was), "n0", nil)
		if c.noDrain {
			f.Status.Decision.Settings.Drain = api.DrainSettings{}
		}
		if b := admission.Against(f, under(c.is), observed.Node{Exists: true}, l, fencetest.Start); b.Stricter != c.want {
			t.Errorf("%s: stricter %v, %s", name, b.Stricter, b.Message)
		}
	}
}
