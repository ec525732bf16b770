package fence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func TestWhichNodesAreMissing(t *testing.T) {
	now, hour := walkStart, walkStart.Add(-time.Hour)
	db := &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
	all := &api.LabelSelector{}
	was := []api.MissingNode{{NodeName: "a", Since: stampOf(hour)}, {NodeName: "back", Since: stampOf(hour)}}
	for name, c := range map[string]struct {
		nodes    []string
		selector *api.LabelSelector
		machines []Machine
		want     string
	}{
		"none is expected, and one was":          {nil, nil, nil, ""},
		"one that is there":                      {[]string{"back"}, nil, nil, ""},
		"one that was missing before":            {[]string{"a"}, nil, nil, "a  3600"},
		"one that was not":                       {[]string{"b", "a"}, nil, nil, "a  3600, b  0"},
		"a Machine whose Node is there":          {nil, all, []Machine{machine("x", "back", hour)}, ""},
		"a Machine whose Node is gone":           {nil, all, []Machine{machine("x", "b", hour)}, "b m/x 0"},
		"a Machine of which no Node has come":    {nil, all, []Machine{machine("x", "", hour)}, " m/x 3600"},
		"a Machine that is not selected":         {nil, &api.LabelSelector{MatchLabels: map[string]string{"pool": "web"}}, []Machine{machine("x", "b", hour)}, ""},
		"a Machine that is":                      {nil, db, []Machine{machine("x", "b", hour)}, "b m/x 0"},
		"Machines, where only names are":         {[]string{"a"}, nil, []Machine{machine("x", "b", hour)}, "a  3600"},
		"a Machine that is being deleted":        {nil, all, []Machine{machine("x", "b", hour, func(m *Machine) { at := metav1.NewTime(now); m.DeletionTimestamp = &at })}, ""},
		"by name and by Machine is missing once": {[]string{"a"}, all, []Machine{machine("x", "a", hour)}, "a  3600"},
	} {
		p := expecting(c.nodes...)
		p.Spec.Machines, p.Status.Missing = &api.MachinesRule{Selector: c.selector}, was
		var got []string
		for _, m := range missingNow(&p, Cluster{Nodes: []ClusterNode{{Name: "back"}}, Machines: c.machines}, now) {
			got = append(got, fmt.Sprintf("%s %s %.0f", m.NodeName, machineOf(m), now.Sub(m.Since.Time).Seconds()))
		}
		if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestAPolicySaysWhoIsMissing(t *testing.T) {
	_, c, l := admitWorld(walkStart)
	p := expecting("n1", "gone")
	for _, s := range []struct {
		after time.Duration
		want  string
	}{{0, "True AllPresent none is missing for too long"}, {10 * time.Minute, "False NodeMissing without a Node: gone for 10m0s"}} {
		p.Status = PolicyStatus(&p, []api.FencePolicy{p}, c, l, walkStart.Add(s.after))
		for _, got := range p.Status.Conditions {
			if is := fmt.Sprintf("%s %s %s", got.Status, got.Reason, got.Message); got.Type == nodesPresent && is != s.want {
				t.Errorf("after %s: %s, want %s", s.after, is, s.want)
			}
		}
		if len(p.Status.Missing) != 1 || !p.Status.Missing[0].Since.Time.Equal(walkStart) {
			t.Errorf("after %s: %+v", s.after, p.Status.Missing)
		}
	}
	p.Spec.MissingNodes, p.Spec.Machines = nil, nil
	if st := PolicyStatus(&p, nil, c, l, walkStart); st.Missing != nil || slices.ContainsFunc(st.Conditions, func(c metav1.Condition) bool { return c.Type == nodesPresent }) {
		t.Errorf("nobody is expected: %+v", st)
	}
}

// TestWhoDecidesForAMissingNode: it has no labels, so the policies that expect it do.
func TestWhoDecidesForAMissingNode(t *testing.T) {
	late, young := stampOf(walkStart.Add(-time.Hour)), stampOf(walkStart.Add(-time.Minute))
	policy := func(name string, since *api.Time, selector *api.LabelSelector) api.FencePolicy {
		p := expecting("a")
		p.Name, p.Spec.Selector = name, selector
		if since == nil {
			p.Spec.MissingNodes, p.Spec.Machines = nil, nil
		} else {
			p.Status.Missing = []api.MissingNode{{NodeName: "a", Since: *since}}
		}
		return p
	}
	db := &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
	unlisted := policy("p", &late, nil)
	unlisted.Spec.MissingNodes.NodeNames = []string{"b"}
	for name, c := range map[string]struct {
		policies []api.FencePolicy
		want     string
	}{
		"the one that expects it, whatever it selects": {[]api.FencePolicy{policy("p", &late, db)}, "p p"},
		"not before its time":                          {[]api.FencePolicy{policy("p", &young, db)}, ""},
		"one that selects all expects nobody":          {[]api.FencePolicy{policy("q", nil, nil)}, ""},
		"whose limits hold all the same":               {[]api.FencePolicy{policy("p", &late, db), policy("q", nil, nil), policy("r", nil, db)}, "p p,q"},
		"two that expect it are a conflict":            {[]api.FencePolicy{policy("p", &late, db), policy("q", &late, nil)}, "p p,q q"},
		"one that expects it no more":                  {[]api.FencePolicy{unlisted}, ""},
	} {
		r, trigger, ok := ResolveMissing(c.policies, "a", walkStart)
		var limits []string
		for _, l := range r.Limits {
			limits = append(limits, l.Policy)
			if l.Policy == "p" && !cmp.Equal(l.Selector, c.policies[0].Spec.Selector) {
				t.Errorf("%s: the limits count over %v", name, l.Selector)
			}
		}
		if got := strings.TrimSpace(r.Policy.Name + " " + strings.Join(limits, ",") + " " + r.Settings.Conflict); got != c.want || ok != (c.want != "") || ok && !trigger.Missing() {
			t.Errorf("%s: %q, want %q, %+v", name, got, c.want, trigger)
		}
	}
}

// TestMissingNodesAreCounted: whoever deletes Node objects by the dozen gets no
// machine cut (S14, S15).
func TestMissingNodesAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		missing []string
		fences  []string
		want    api.Reason
	}{
		"one of ten":                       {[]string{"gone"}, nil, ""},
		"with two others that just went":   {[]string{"gone", "a", "b"}, nil, ""},
		"with three others":                {[]string{"gone", "a", "b", "c"}, nil, api.TooManyUnhealthy},
		"with one that is being fenced":    {[]string{"gone"}, []string{"a"}, api.TooManyConcurrent},
		"a Node that is there is no other": {[]string{"gone", "n1", "n2", "n3"}, nil, ""},
	} {
		f, cl, l := admitWorld(walkStart)
		cl.Nodes[0].Unhealthy = false
		f.Name, f.Spec.NodeName = "gone", "gone"
		f.Status.Decision.Limits[0].Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
		for i := range cl.Nodes {
			cl.Nodes[i].Labels = map[string]string{"pool": "db"}
		}
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}}
		cl.Fences = []api.NodeFence{*f}
		for _, node := range c.fences {
			other := running(node, "other", api.Fencing)
			other.Status.Decision.Limits, other.Status.Decision.Trigger = f.Status.Decision.Limits, f.Status.Decision.Trigger
			cl.Fences = append(cl.Fences, other)
		}
		p := expecting()
		for _, m := range c.missing {
			p.Status.Missing = append(p.Status.Missing, api.MissingNode{NodeName: m})
		}
		v := Admit(f, withMissing(cl, []api.FencePolicy{p}), l, walkStart)
		if got := reasonOf(v); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// lostNode is a node without a Node object, and its machine.
type lostNode struct {
	on           bool
	t            *testing.T
	f            api.NodeFence
	now          time.Time
	pods         int
	back         time.Duration
	offs, ons    int
	done         []string
	devicesError string
}

// run decides until the record rests, and carries out what is decided.
func (n *lostNode) run() {
	began := n.now
	for i := range 400 {
		exists := n.back > 0 && n.now.Sub(began) >= n.back
		seen := Seen{Me: fmt.Sprint(i), Brakes: Brakes{Looked: true, Counted: true}, Left: &Left{Delete: make([]Pod, n.pods)}}
		if exists {
			seen.Node = Node{Exists: true, UID: "new", Conditions: []Condition{{Type: "Ready", Status: "True"}}}
			seen.Lease = Lease{Exists: true, Renewed: fmt.Sprint(i), Renewal: 10 * time.Second}
		}
		for range 3 { // the turns of one invocation
			st, act := Decide(&n.f, seen, n.now)
			n.f.Status = st
			if act == None {
				break
			}
			n.act(act, &seen)
		}
		if p := n.f.Status.Phase; p == api.Finished || p == api.Failed || p == api.Fenced && n.back == 0 {
			return
		}
		n.now = n.now.Add(max(time.Second, n.f.Status.NextLook.Sub(n.now)))
		if n.now.Sub(began) > 2*time.Minute {
			n.pods = 0 // pod GC
		}
	}
	n.t.Fatalf("it never ends: %s %s %s", n.f.Status.Phase, n.f.Status.Reason, n.f.Status.Message)
}

func (n *lostNode) act(act Action, seen *Seen) {
	n.done = append(n.done, string(act))
	seen.Call = nil
	switch act {
	case Resolve:
		if n.f.Status.Decision.DevicesError = n.devicesError; n.devicesError == "" {
			n.f.Status.Decision.Devices = api.Named(api.Binding{Driver: "mem", Address: "a"})
		}
		seen.Resolved = true
	case Reserve:
		at := n.now
		seen.Reserved = &at
	case Read:
		seen.Call = &CallResult{Call: api.CallRead, At: n.now, Power: map[bool]string{true: "On", false: "Off"}[n.on]}
	case Off:
		n.on = false
		n.offs++
		seen.Call = &CallResult{Call: api.CallOff, At: n.now}
	case On:
		if n.pods > 0 {
			n.t.Errorf("switched on while %d pods are left (S4)", n.pods)
		}
		n.on = true
		n.ons++
		seen.Call = &CallResult{Call: api.CallOn, At: n.now}
	case DropFinalizer:
		seen.Finalizer = false
	default:
		n.t.Errorf("%s, and there is no Node that it could be about (S6)", act)
	}
}

// TestAFenceOfAMissingNode switches its machine off and on again, and releases
// nothing (S6).
func TestAFenceOfAMissingNode(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*lostNode)
		phase     api.Phase
		outcome   api.Reason
		offs, ons int
	}{
		"its machine is on, and comes back":           {func(n *lostNode) { n.back = 5 * time.Minute }, api.Finished, api.Recovered, 1, 1},
		"its machine never comes back":                {func(*lostNode) {}, api.Failed, "", 2, 2},
		"pods are left for a while":                   {func(n *lostNode) { n.pods, n.back = 3, 10*time.Minute }, api.Finished, api.Recovered, 1, 1},
		"its machine is off":                          {func(n *lostNode) { n.on = false }, api.Fenced, "", 0, 0},
		"its machine stays off":                       {func(n *lostNode) { n.f.Status.Decision.Settings.Action = api.ActionOff }, api.Fenced, "", 1, 0},
		"the Node is there before its machine is cut": {func(n *lostNode) { n.back = 1 }, api.Finished, api.NodeReplaced, 0, 0},
		"nobody knows its machine":                    {func(n *lostNode) { n.devicesError = "not enrolled" }, api.Failed, "", 0, 0},
		"it is only isolated, which it is":            {func(n *lostNode) { n.f.Status.Decision.Settings.Action = api.ActionIsolate }, api.Fenced, "", 0, 0},
		"with earlyProbe in the policy":               {func(n *lostNode) { n.f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{} }, api.Failed, "", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := func(n time.Duration) metav1.Duration { return metav1.Duration{Duration: n * time.Second} }
			n := &lostNode{t: t, now: walkStart, on: true}
			n.f = api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}, Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1,
				Decision: api.Decision{Trigger: api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}, Since: stampOf(walkStart.Add(-time.Hour))},
					ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{Action: api.ActionReboot, Mode: api.ModeEnforce,
						UnhealthyConditions: []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}},
						Release:             api.ReleaseSettings{Strategy: api.ReleaseTaintAndDelete, Timeout: s(300)},
						Recovery:            api.RecoverySettings{BootTimeout: s(600)}, PerNode: (*api.PerNode)(nil).Settings(),
						Power: api.PowerSettings{MaxLevels: 4, OffTimeout: s(10), Attempts: 3, RetryInterval: s(5), Restarts: 1}}}}}}
			c.change(n)
			n.run()
			st := n.f.Status
			if st.Phase != c.phase || st.Outcome != c.outcome || n.offs != c.offs || n.ons != c.ons {
				t.Errorf("%s, outcome %q, %d off, %d on: %s %s\n%v", st.Phase, st.Outcome, n.offs, n.ons, st.Reason, st.Message, n.done)
			}
		})
	}
}

// TestMissingNodesThatNobodyCounts: a full list may be a part of what is missing, and
// a part of a storm is no number to decide by (S14, S15). Machines without a node are
// the part that is cut.
func TestMissingNodesThatNobodyCounts(t *testing.T) {
	p := expecting()
	p.Spec.Machines = &api.MachinesRule{Selector: everyNode}
	c := Cluster{}
	for i := range maxHeld {
		c.Machines = append(c.Machines, Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: fmt.Sprint(i)}})
	}
	for nodes, held := range map[int]bool{maxHeld - 2: false, maxHeld: true} {
		p.Spec.MissingNodes.NodeNames = nil
		for i := range nodes {
			p.Spec.MissingNodes.NodeNames = append(p.Spec.MissingNodes.NodeNames, fmt.Sprint("gone-", i))
		}
		p.Status.Missing, p.Status.MissingCount = listed(missingNow(&p, c, walkStart))
		if int(p.Status.MissingCount) != nodes+maxHeld || len(p.Status.Missing) != maxHeld || p.Status.Missing[nodes-1].NodeName == "" {
			t.Fatalf("%d missing: %+v", len(p.Status.Missing), p.Status.Missing[maxHeld-3:])
		}
		f, cl, l := admitWorld(walkStart)
		v := Admit(f, withMissing(cl, []api.FencePolicy{p}), l, walkStart)
		if got := v != nil && v.Reason == api.TooManyUnhealthy && strings.Contains(v.Message, "too many to count"); got != held {
			t.Errorf("%d are missing: %+v", nodes, v)
		}
	}
}
