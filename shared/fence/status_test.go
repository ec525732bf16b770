package fence

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestPolicyStatus: why a node is not being fenced stands in its policy, in words.
func TestPolicyStatus(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*api.FencePolicy, *Cluster, *api.FenceLedger)
		held    []api.HeldNode
		allowed api.Reason // empty: True
	}{
		"all is well": {func(*api.FencePolicy, *Cluster, *api.FenceLedger) {}, nil, ""},
		"a storm": {func(_ *api.FencePolicy, c *Cluster, _ *api.FenceLedger) {
			for i := range 5 {
				c.Nodes[i].Unhealthy = true
			}
		}, nil, api.StormHold},
		"a pause, by name": {func(p *api.FencePolicy, _ *Cluster, _ *api.FenceLedger) { p.Spec.PauseRequests = []string{"upgrade"} }, nil, api.PausedHold},
		"a pause window": {func(p *api.FencePolicy, _ *Cluster, _ *api.FenceLedger) {
			p.Spec.PauseWindows = []api.PauseWindow{opens("00:00", time.Hour, "")}
		}, nil, api.WindowHold},
		"a window in a zone that is not known": {func(p *api.FencePolicy, _ *Cluster, _ *api.FenceLedger) {
			p.Spec.PauseWindows = []api.PauseWindow{opens("12:00", time.Hour, "Europe/Atlantis")}
		}, nil, api.WindowInvalidHold},
		"a selector that can't be read": {func(p *api.FencePolicy, c *Cluster, _ *api.FenceLedger) {
			p.Spec.Selector = &api.LabelSelector{MatchExpressions: []api.LabelRequirement{{Key: "pool", Operator: "in", Values: []string{"x"}}}}
			c.Nodes = c.Nodes[:1:1]
		}, []api.HeldNode{{Node: "n0", Reason: api.ExcludedHold,
			Message: `policy p, spec.selector: "in" is not a valid label selector operator; no fence begins under it until that is corrected`}}, api.SelectorInvalid},
		"the stop switch": {func(_ *api.FencePolicy, _ *Cluster, l *api.FenceLedger) { l.Spec.Stop = true }, nil, api.StoppedHold},
		"a restore":       {func(_ *api.FencePolicy, _ *Cluster, l *api.FenceLedger) { l.Status.Restored = restored(0) }, nil, api.WentBackHold},
		"a cool-down": {func(_ *api.FencePolicy, _ *Cluster, l *api.FenceLedger) {
			until := stampOf(walkStart.Add(time.Minute))
			l.Status.Storms = []api.Storm{{Policy: "p", CoolDownUntil: &until}}
		}, nil, api.CoolDownHold},
		"what the gate said": {func(_ *api.FencePolicy, c *Cluster, _ *api.FenceLedger) {
			f := running("n3", "f3", api.Pending)
			f.Status.Reason, f.Status.Message = api.RateHold, "2 fences began"
			c.Fences = append(c.Fences, f)
		}, []api.HeldNode{{Node: "n3", Reason: api.RateHold, Message: "2 fences began"}}, ""},
		"excluded, being deleted, control plane": {func(p *api.FencePolicy, c *Cluster, _ *api.FenceLedger) {
			p.Spec.Exclude = &api.ExcludedNodes{NodeNames: []string{"n1"}}
			c.Nodes[2].Deleting, c.Nodes[4].Excluded, c.Nodes[5].ControlPlane = "Karpenter", "the label", true
		}, []api.HeldNode{
			{Node: "n1", Reason: api.ExcludedHold, Message: "policy p excludes this node by spec.exclude.nodeNames"},
			{Node: "n2", Reason: api.DeletionHold, Message: "Karpenter"},
			{Node: "n4", Reason: api.ExcludedHold, Message: "the label"},
			{Node: "n5", Reason: api.ControlPlaneHold, Message: "controlPlane.fence is Never"},
		}, ""},
	} {
		_, cl, l := admitWorld(walkStart)
		cl.Fences = nil
		cl.Nodes[0].Unhealthy = false
		p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 3}}
		c.change(&p, &cl, l)
		st := PolicyStatus(&p, []api.FencePolicy{p}, cl, l, walkStart)
		if d := cmp.Diff(c.held, st.Held); d != "" {
			t.Errorf("%s: held\n%s", name, d)
		}
		cond := meta.FindStatusCondition(st.Conditions, "RemediationAllowed")
		if ok := cond.Status == metav1.ConditionTrue; ok != (c.allowed == "") || !ok && cond.Reason != string(c.allowed) || cond.Message == "" {
			t.Errorf("%s: %+v", name, cond)
		}
		valid := meta.IsStatusConditionTrue(st.Conditions, "Valid")
		if valid == (c.allowed == api.WindowInvalidHold || c.allowed == api.SelectorInvalid) {
			t.Errorf("%s: Valid=%v", name, valid)
		}
		if st.Targets != int32(len(cl.Nodes)) || st.Healthy+st.Unhealthy != st.Targets || st.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

func TestBudgetStatus(t *testing.T) {
	_, c, l := admitWorld(walkStart)
	c.Nodes[1].Unhealthy = true
	l.Status.Reservations = []api.Reservation{{NodeName: "n1"}}
	b := api.FenceBudget{Spec: api.FenceBudgetSpec{MaxUnavailable: number(3)}}
	got := BudgetStatus(&b, c, l)
	if d := cmp.Diff(api.FenceBudgetStatus{Nodes: 10, Available: 8, Fencing: 1, Allowed: 1}, got); d != "" {
		t.Error(d)
	}
}

func TestZonesInThePolicysStatus(t *testing.T) {
	f, c, l := admitWorld(walkStart)
	zones(f, &c)
	for i := range 5 {
		c.Nodes[i].Unhealthy = true
	}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Limits: api.Limits{TopologyKey: zoneKey, MaxUnhealthy: percent("40%")}}}
	want := []api.DomainStatus{
		{Name: "a", Targets: 5, Unhealthy: 5, Message: "5 of 5 nodes are unhealthy, maxUnhealthy is 40% (2)"},
		{Name: "b", Targets: 5, Message: "1 of 5 nodes are unhealthy, maxUnhealthy is 40% (2)"},
	}
	if d := cmp.Diff(want, PolicyStatus(&p, []api.FencePolicy{p}, c, l, walkStart).Domains); d != "" {
		t.Error(d)
	}
}

// TestPolicyStatusFigures: how many may begin now, since when a storm stands, what was
// decided last.
func TestPolicyStatusFigures(t *testing.T) {
	minute := func(n int) api.Time { return stampOf(walkStart.Add(time.Duration(n) * time.Minute)) }
	for name, c := range map[string]struct {
		change  func(*api.FencePolicy, *Cluster, *api.FenceLedger)
		allowed int32
		since   *api.Time
	}{
		"free": {func(*api.FencePolicy, *Cluster, *api.FenceLedger) {}, 3, nil},
		"one runs": {func(_ *api.FencePolicy, _ *Cluster, l *api.FenceLedger) {
			l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "f1", At: minute(0)}}
		}, 2, nil},
		"a rate that is used up": {func(p *api.FencePolicy, _ *Cluster, l *api.FenceLedger) {
			p.Spec.Limits.Rate = &api.Rate{Fences: 1, Within: metav1.Duration{Duration: time.Hour}}
			l.Status.Admitted = []api.Reservation{{NodeName: "n1", FenceUID: "f1", At: minute(-30)}}
		}, 0, nil},
		"a pause": {func(p *api.FencePolicy, _ *Cluster, _ *api.FenceLedger) { p.Spec.PauseRequests = []string{"me"} }, 0, nil},
		"a storm": {func(_ *api.FencePolicy, c *Cluster, l *api.FenceLedger) {
			for i := range 5 {
				c.Nodes[i].Unhealthy = true
			}
			l.Status.Storms = []api.Storm{{Policy: "p", Since: minute(-5)}, {Policy: "p", Since: minute(-9)}, {Policy: "q", Since: minute(-20)}}
		}, 0, new(minute(-9))},
	} {
		t.Run(name, func(t *testing.T) {
			_, cl, l := admitWorld(walkStart)
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
			p.Spec.Limits.MaxConcurrent = 3
			c.change(&p, &cl, l)
			st := PolicyStatus(&p, []api.FencePolicy{p}, cl, l, walkStart)
			if st.AllowedNow != c.allowed || !st.StormSince.Equal(c.since) {
				t.Errorf("allowed now %d, storm since %v", st.AllowedNow, st.StormSince)
			}
		})
	}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	_, cl, l := admitWorld(walkStart)
	cl.Fences = nil
	for i := range 12 {
		f := running("n"+strconv.Itoa(i), "f", api.Pending)
		f.Spec.Decision.Policy.Name = "p"
		f.Status.History = []api.HistoryEntry{{At: minute(-99)}, {At: minute(i), Reason: api.RateHold, Message: "2 fences began"}}
		cl.Fences = append(cl.Fences, f)
	}
	st := PolicyStatus(&p, []api.FencePolicy{p}, cl, l, walkStart)
	if n := len(st.LastDecisions); n != maxLately || st.LastDecisions[0].Node != "n11" || st.LastDecisions[9].Node != "n2" || st.LastDecisions[0].Message != "2 fences began" {
		t.Errorf("%d, first %+v", n, st.LastDecisions[0])
	}
}
