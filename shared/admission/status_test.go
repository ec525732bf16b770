package admission_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestPolicyStatus: why a node is not being fenced stands in its policy, in words.
func TestPolicyStatus(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*api.FencePolicy, *admission.Picture, *api.FenceLedger)
		held    []api.HeldNode
		allowed api.Reason // empty: True
	}{
		"all is well": {func(*api.FencePolicy, *admission.Picture, *api.FenceLedger) {}, nil, ""},
		"a storm": {func(_ *api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			for i := range 5 {
				c.Nodes[i].Unhealthy = true
			}
		}, nil, api.TooManyUnhealthy},
		"a pause, by name": {func(p *api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			p.Spec.PauseRequests = []string{"upgrade"}
		}, nil, api.Paused},
		"a pause window": {func(p *api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			p.Spec.PauseWindows = []api.PauseWindowRule{fencetest.Window("00:00", time.Hour, "")}
		}, nil, api.PauseWindow},
		"a window in a zone that is not known": {func(p *api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			p.Spec.PauseWindows = []api.PauseWindowRule{fencetest.Window("12:00", time.Hour, "Europe/Atlantis")}
		}, nil, api.PauseWindowInvalid},
		"a selector that can't be read": {func(p *api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			p.Spec.Selector = &api.LabelSelector{MatchExpressions: []api.LabelRequirement{{Key: "pool", Operator: "in", Values: []string{"x"}}}}
			c.Nodes = c.Nodes[:1:1]
		}, []api.HeldNode{{NodeName: "n0", Reason: api.Excluded,
			Message: `policy p, spec.selector: "in" is not a valid label selector operator; no fence begins under it until that is corrected`}}, api.SelectorInvalid},
		"the stop switch": {func(_ *api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) { l.Spec.Stop = true }, nil, api.Stopped},
		"a restore": {func(_ *api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Restored = fencetest.Restored(0)
		}, nil, api.StateWentBack},
		"a cool-down": {func(_ *api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			until := observed.StampOf(fencetest.Start.Add(time.Minute))
			l.Status.Storms = []api.Storm{{Policy: "p", CoolDownUntil: &until}}
		}, nil, api.StormCoolDown},
		"what the gate said": {func(_ *api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			f := fencetest.Running("n3", "f3", api.Pending)
			f.Status.Reason, f.Status.Message = api.TooManyInATime, "2 fences began"
			c.Fences = append(c.Fences, f)
		}, []api.HeldNode{{NodeName: "n3", Reason: api.TooManyInATime, Message: "2 fences began"}}, ""},
		"a person ended it": {func(_ *api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			for i := range 4 { // n0 and n1 are Ready, and of n2 it was another Node object
				f := fencetest.Running(c.Nodes[i].Name, "f", api.Finished)
				f.Status.Outcome, f.Status.FenceNumber = api.Aborted, 7
				f.Status.Decision.NodeUID = c.Nodes[i].UID
				c.Nodes[i].Unhealthy = i == 2 || i == 3
				c.Fences = append(c.Fences, f)
			}
			c.Fences[2].Status.Decision.NodeUID = "another"
		}, []api.HeldNode{{NodeName: "n3", Reason: api.Aborted,
			Message: "a person aborted its fence 7: what was wrong then opens no other one; if it is to be fenced for that, ask for it by a FenceRequest"}}, ""},
		"a person ended an earlier one": {func(_ *api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			lost := api.Evidence{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Mark: observed.StampOf(fencetest.Start)}
			noted := func(n *admission.Node, uid, evidence, lease string) {
				f := fencetest.Running(n.Name, "f", api.Finished)
				f.Status.Outcome, f.Status.FenceNumber, f.Status.Decision.NodeUID = api.HealedBeforeFence, 7, n.UID
				f.Annotations = map[string]string{api.AbortedAnnotation: `{"nodeUID":"` + uid + `","evidence":[` + evidence + `],"lease":"` + lease + `"}`}
				n.Unhealthy, n.NotReady, c.Fences = true, &lost, append(c.Fences, f)
			}
			ready := `{"type":"NodeCondition","condition":"Ready","status":"Unknown","mark":"` + fencetest.Start.UTC().Format("2006-01-02T15:04:05.000000Z") + `"}`
			for i := range c.Nodes {
				c.Nodes[i].UID = "u"
			}
			noted(&c.Nodes[1], "u", ready, "")
			noted(&c.Nodes[2], "another", ready, "m")
			noted(&c.Nodes[3], "u", strings.Replace(ready, "Ready", "KernelDeadlock", 1), "")
			noted(&c.Nodes[4], "u", "", "m")
			l.Status.Leases.Still = []api.StillLease{{NodeName: "n2", Renewed: "m"}, {NodeName: "n4", Renewed: "m"}}
		}, []api.HeldNode{
			{NodeName: "n1", Reason: api.Aborted, Message: "a person aborted a fence of it before fence 7: what was wrong then opens no other one; if it is to be fenced for that, ask for it by a FenceRequest"},
			{NodeName: "n4", Reason: api.Aborted, Message: "a person aborted a fence of it before fence 7: what was wrong then opens no other one; if it is to be fenced for that, ask for it by a FenceRequest"},
		}, ""},
		"a FenceRequest for it was withdrawn": {func(_ *api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			f := fencetest.Running("n3", "f", api.Finished)
			f.Status.Outcome, f.Status.Decision.NodeUID, f.Status.Decision.AskedBy = api.Aborted, c.Nodes[3].UID, []api.AskedBy{{ID: "u"}}
			f.Annotations = map[string]string{api.WithdrawnAnnotation: "u"}
			c.Nodes[3].Unhealthy, c.Fences = true, append(c.Fences, f)
		}, nil, ""},
		"excluded, being deleted, control plane": {func(p *api.FencePolicy, c *admission.Picture, _ *api.FenceLedger) {
			p.Spec.Exclude = &api.ExcludedNodes{NodeNames: []string{"n1"}}
			c.Nodes[2].Deleting, c.Nodes[4].Excluded, c.Nodes[5].ControlPlane = "Karpenter", "the label", true
		}, []api.HeldNode{
			{NodeName: "n1", Reason: api.Excluded, Message: "policy p excludes this node by spec.exclude.nodeNames"},
			{NodeName: "n2", Reason: api.NodeBeingDeleted, Message: "Karpenter"},
			{NodeName: "n4", Reason: api.Excluded, Message: "the label"},
			{NodeName: "n5", Reason: api.ControlPlaneNode, Message: "policy p (generation 3) never fences control-plane nodes (controlPlane.fence: Never)"},
		}, ""},
	} {
		_, cl, l := fencetest.World(fencetest.Start)
		cl.Fences = nil
		cl.Nodes[0].Unhealthy = false
		p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 3}}
		c.change(&p, &cl, l)
		st := admission.PolicyStatus(&p, []api.FencePolicy{p}, cl, l, fencetest.Start)
		if d := cmp.Diff(c.held, st.Held); d != "" {
			t.Errorf("%s: held\n%s", name, d)
		}
		cond := meta.FindStatusCondition(st.Conditions, admission.FencingAllowed)
		if ok := cond.Status == metav1.ConditionTrue; ok != (c.allowed == "") || !ok && cond.Reason != string(c.allowed) || cond.Message == "" {
			t.Errorf("%s: %+v", name, cond)
		}
		valid := meta.IsStatusConditionTrue(st.Conditions, admission.Accepted)
		if valid == (c.allowed == api.PauseWindowInvalid || c.allowed == api.SelectorInvalid) {
			t.Errorf("%s: Accepted=%v", name, valid)
		}
		if st.SelectedNodes != int32(len(cl.Nodes)) || st.HealthyNodes+st.UnhealthyNodes != st.SelectedNodes || st.HeldCount != int32(len(c.held)) || st.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestBudgetStatus: its figures, and why it allows no more.
func TestBudgetStatus(t *testing.T) {
	type told struct{ expected, available, fencing, allowed int32 }
	for name, c := range map[string]struct {
		spec      api.FenceBudgetSpec
		want      told
		no        api.Reason // of DisruptionAllowed; empty: True
		unread    bool
		unwelcome string
	}{
		"room for one more":    {api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(3)}, told{10, 8, 1, 1}, "", false, "2 of 10 nodes are unavailable, maxUnavailable is 3 (3)"},
		"no room":              {api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(2)}, told{10, 8, 1, 0}, api.BudgetExhausted, false, "2 of 10 nodes are unavailable, maxUnavailable is 2 (2)"},
		"none is none":         {api.FenceBudgetSpec{MaxUnavailable: fencetest.Percent("0%")}, told{10, 8, 1, 0}, api.BudgetExhausted, false, "2 of 10 nodes are unavailable, maxUnavailable is 0% (0)"},
		"as many as must stay": {api.FenceBudgetSpec{MinAvailable: fencetest.Number(8)}, told{10, 8, 1, 0}, api.BudgetExhausted, false, "2 of 10 nodes are unavailable, minAvailable is 8 (8)"},
		"a selector that can't be read": {api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(3), Selector: &api.LabelSelector{MatchLabels: map[string]string{"a": "no label"}}},
			told{10, 8, 1, 1}, "", true, "2 of 10 nodes are unavailable, maxUnavailable is 3 (3)"},
	} {
		_, cl, l := fencetest.World(fencetest.Start)
		cl.Nodes[1].Unhealthy = true
		l.Status.Reservations = []api.Reservation{{NodeName: "n1"}}
		st := admission.BudgetStatus(&api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Spec: c.spec}, cl, l, fencetest.Start)
		if got := (told{st.ExpectedNodes, st.AvailableNodes, st.FencingNodes, st.DisruptionsAllowed}); got != c.want || st.ObservedGeneration != 4 {
			t.Errorf("%s: %+v", name, st)
		}
		a, d := meta.FindStatusCondition(st.Conditions, admission.Accepted), meta.FindStatusCondition(st.Conditions, admission.DisruptionAllowed)
		if (a.Reason == string(api.SelectorInvalid)) != c.unread || (a.Status == metav1.ConditionTrue) == c.unread || a.ObservedGeneration != 4 {
			t.Errorf("%s: %+v", name, a)
		}
		if (d.Status == metav1.ConditionTrue) != (c.no == "") || c.no != "" && d.Reason != string(c.no) || d.Message != c.unwelcome {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestZonesInThePolicysStatus: a storm in one of two zones leaves the other its room, under
// the totals; one in both leaves none.
func TestZonesInThePolicysStatus(t *testing.T) {
	f, c, l := fencetest.World(fencetest.Start)
	fencetest.Zones(f, &c)
	for i := range 5 {
		c.Nodes[i].Unhealthy = true
	}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Limits: api.Limits{
		MaxUnhealthy: fencetest.Percent("60%"), MaxConcurrent: new(int32(5)),
		PerDomain: &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: fencetest.Percent("40%"), MaxConcurrent: new(int32(2))},
	}}}
	want := []api.DomainStatus{
		{Name: "a", SelectedNodes: 5, UnhealthyNodes: 5, Message: "5 of 5 nodes are unhealthy, perDomain.maxUnhealthy is 40% (2)"},
		{Name: "b", SelectedNodes: 5, Message: "1 of 5 nodes are unhealthy, perDomain.maxUnhealthy is 40% (2)"},
	}
	st := admission.PolicyStatus(&p, []api.FencePolicy{p}, c, l, fencetest.Start)
	if d := cmp.Diff(want, st.Domains); d != "" || st.FencesAllowed != 2 {
		t.Errorf("%d allowed, %s", st.FencesAllowed, d)
	}
	says := func(st api.FencePolicyStatus, ok metav1.ConditionStatus, words string) {
		t.Helper()
		if a := meta.FindStatusCondition(st.Conditions, admission.FencingAllowed); a.Status != ok || a.Message != words {
			t.Errorf("%+v", a)
		}
	}
	says(st, metav1.ConditionTrue, "5 of 10 nodes are unhealthy, maxUnhealthy is 60% (6); a fence may not begin in 1 of 2 domains: see status.domains")
	p.Spec.Limits.MaxUnhealthy = fencetest.Percent("100%")
	for i := range c.Nodes {
		c.Nodes[i].Unhealthy = true
	}
	says(admission.PolicyStatus(&p, []api.FencePolicy{p}, c, l, fencetest.Start), metav1.ConditionFalse, "a fence may begin in no domain: see status.domains")
}

// TestPolicyStatusFigures: how many may begin now, since when a storm stands, what was
// decided last.
func TestPolicyStatusFigures(t *testing.T) {
	minute := func(n int) api.Time { return observed.StampOf(fencetest.Start.Add(time.Duration(n) * time.Minute)) }
	for name, c := range map[string]struct {
		change  func(*api.FencePolicy, *admission.Picture, *api.FenceLedger)
		allowed int32
		since   *api.Time
	}{
		"free": {func(*api.FencePolicy, *admission.Picture, *api.FenceLedger) {}, 3, nil},
		"one runs": {func(_ *api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			l.Status.Reservations = []api.Reservation{{NodeName: "n1", FenceUID: "f1", At: minute(0)}}
		}, 2, nil},
		"a rate that is used up": {func(p *api.FencePolicy, _ *admission.Picture, l *api.FenceLedger) {
			p.Spec.Limits.MaxRate = &api.Rate{Count: 1, Period: "1h"}
			l.Status.Admitted = []api.Reservation{{NodeName: "n1", FenceUID: "f1", At: minute(-30)}}
		}, 0, nil},
		"a pause": {func(p *api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			p.Spec.PauseRequests = []string{"me"}
		}, 0, nil},
		"nobody keeps it up to date": {func(p *api.FencePolicy, _ *admission.Picture, _ *api.FenceLedger) {
			p.Labels = map[string]string{policy.AdoptedLabel: "x"}
		}, 0, nil},
		"a storm": {func(_ *api.FencePolicy, c *admission.Picture, l *api.FenceLedger) {
			for i := range 5 {
				c.Nodes[i].Unhealthy = true
			}
			l.Status.Storms = []api.Storm{{Policy: "p", Since: minute(-5)}, {Policy: "p", Since: minute(-9)}, {Policy: "q", Since: minute(-20)}}
		}, 0, new(minute(-9))},
	} {
		t.Run(name, func(t *testing.T) {
			_, cl, l := fencetest.World(fencetest.Start)
			p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
			p.Spec.Limits.MaxConcurrent = new(int32(3))
			c.change(&p, &cl, l)
			st := admission.PolicyStatus(&p, []api.FencePolicy{p}, cl, l, fencetest.Start)
			if st.FencesAllowed != c.allowed || !st.StormSince.Equal(c.since) {
				t.Errorf("%d allowed, storm since %v", st.FencesAllowed, st.StormSince)
			}
		})
	}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	_, cl, l := fencetest.World(fencetest.Start)
	cl.Fences = nil
	for i := range 12 {
		f := fencetest.Running("n"+strconv.Itoa(i), "f", api.Pending)
		f.Status.Decision.Policy.Name = "p"
		f.Status.History = []api.HistoryEntry{{At: minute(-99)}, {At: minute(i), Reason: api.TooManyInATime, Message: "2 fences began"}}
		cl.Fences = append(cl.Fences, f)
	}
	st := admission.PolicyStatus(&p, []api.FencePolicy{p}, cl, l, fencetest.Start)
	if n := len(st.LastDecisions); n != admission.MaxLately || st.LastDecisions[0].NodeName != "n11" || st.LastDecisions[9].NodeName != "n2" || st.LastDecisions[0].Message != "2 fences began" {
		t.Errorf("%d, first %+v", n, st.LastDecisions[0])
	}
}
