package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

func TestWhichNodesAreMissing(t *testing.T) {
	now, hour := fencetest.Start, fencetest.Start.Add(-time.Hour)
	db := &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
	all := &api.LabelSelector{}
	was := []api.MissingNode{{NodeName: "a", Since: observed.StampOf(hour)}, {NodeName: "back", Since: observed.StampOf(hour)}}
	for name, c := range map[string]struct {
		nodes    []string
		selector *api.LabelSelector
		machines []policy.Machine
		want     string
	}{
		"none is expected, and one was":          {nil, nil, nil, ""},
		"one that is there":                      {[]string{"back"}, nil, nil, ""},
		"one that was missing before":            {[]string{"a"}, nil, nil, "a  3600"},
		"one that was not":                       {[]string{"b", "a"}, nil, nil, "a  3600, b  0"},
		"a Machine whose Node is there":          {nil, all, []policy.Machine{fencetest.Machine("x", "back", hour)}, ""},
		"a Machine whose Node is gone":           {nil, all, []policy.Machine{fencetest.Machine("x", "b", hour)}, "b m/x 0"},
		"a Machine of which no Node has come":    {nil, all, []policy.Machine{fencetest.Machine("x", "", hour)}, " m/x 3600"},
		"a Machine that is not selected":         {nil, &api.LabelSelector{MatchLabels: map[string]string{"pool": "web"}}, []policy.Machine{fencetest.Machine("x", "b", hour)}, ""},
		"a Machine that is":                      {nil, db, []policy.Machine{fencetest.Machine("x", "b", hour)}, "b m/x 0"},
		"Machines, where only names are":         {[]string{"a"}, nil, []policy.Machine{fencetest.Machine("x", "b", hour)}, "a  3600"},
		"a Machine that is being deleted":        {nil, all, []policy.Machine{fencetest.Machine("x", "b", hour, func(m *policy.Machine) { at := metav1.NewTime(now); m.DeletionTimestamp = &at })}, ""},
		"by name and by Machine is missing once": {[]string{"a"}, all, []policy.Machine{fencetest.Machine("x", "a", hour)}, "a  3600"},
		"a Machine that somebody paused":         {nil, all, []policy.Machine{fencetest.Machine("x", "b", hour, noted(policy.Paused, "false"))}, "b m/x 0 held: Machine m/x is left alone: it has the annotation " + policy.Paused},
		"one that is skipped, without a Node":    {nil, all, []policy.Machine{fencetest.Machine("x", "", hour, noted(policy.SkipRemediation, ""))}, " m/x 3600 held: Machine m/x is left alone: it has the annotation " + policy.SkipRemediation},
		"paused, and expected by name too":       {[]string{"a"}, all, []policy.Machine{fencetest.Machine("x", "a", hour, noted(policy.Paused, ""))}, "a  3600 held: Machine m/x is left alone: it has the annotation " + policy.Paused},
		"paused, and another is missing":         {[]string{"a"}, all, []policy.Machine{fencetest.Machine("x", "back", hour, noted(policy.Paused, ""))}, "a  3600"},
		"paused, and not selected":               {[]string{"a"}, &api.LabelSelector{MatchLabels: map[string]string{"pool": "web"}}, []policy.Machine{fencetest.Machine("x", "a", hour, noted(policy.Paused, ""))}, "a  3600"},
	} {
		p := fencetest.Expecting(c.nodes...)
		looked := observed.StampOf(now)
		p.Spec.Machines, p.Status.Missing, p.Status.ObservedAt = &api.MachinesRule{Selector: c.selector}, was, &looked
		var got []string
		for _, m := range admission.MissingNow(&p, admission.Picture{Nodes: []admission.Node{{Name: "back"}}, Machines: c.machines}, now) {
			words := fmt.Sprintf("%s %s %.0f", m.NodeName, admission.MachineOf(m), now.Sub(m.Since.Time).Seconds())
			if m.Held != "" {
				words += " held: " + m.Held
			}
			got = append(got, words)
		}
		if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestAMissingNodeOfAMachineThatIsLeftAlone: no fence of it opens, by whatever policy, and one that has
// opened before is held until the annotation goes (S17: a fence whose reason is gone is called off).
func TestAMissingNodeOfAMachineThatIsLeftAlone(t *testing.T) {
	now := fencetest.Start
	byMachine, byName := fencetest.Expecting(), fencetest.Expecting("a")
	byMachine.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode}
	byMachine.Name, byName.Name = "q", "p"
	for i, p := range []*api.FencePolicy{&byMachine, &byName} {
		m := api.MissingNode{NodeName: "a", Since: *ago(now, time.Hour)}
		if i == 0 {
			m.Machine = &api.MachineRef{Namespace: "m", Name: "x"}
		}
		p.Status.Missing = []api.MissingNode{m}
	}
	all := []api.FencePolicy{byMachine, byName}
	resolved, trigger, ok := policy.ResolveMissing(all, "a", now)
	f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}}
	f.Status.Decision.Trigger, f.Status.Decision.ResolvedPolicy = trigger, resolved
	if is, selected := admission.Live(all, f, observed.Node{}, now); !ok || !selected || is.Settings.Excluded != "" {
		t.Fatalf("not left alone: %t, %t, %q", ok, selected, is.Settings.Excluded)
	}
	all[0].Status.Missing[0].Held = "Machine m/x is left alone"
	if _, _, ok := policy.ResolveMissing(all, "a", now); ok || len(policy.Overdue(&all[0], now)) != 0 {
		t.Error("a fence opens")
	}
	if is, selected := admission.Live(all, f, observed.Node{}, now); !selected || is.Settings.Excluded != "Machine m/x is left alone" {
		t.Errorf("opened before: %t, %q", selected, is.Settings.Excluded)
	}
	if is, _ := admission.Live(all, f, observed.Node{Exists: true}, now); is.Settings.Excluded != "" {
		t.Errorf("its Node is back: %q", is.Settings.Excluded)
	}
	all[0].Spec.Machines = nil
	if _, _, ok := policy.ResolveMissing(all, "a", now); !ok {
		t.Error("held by a policy that expects it no more")
	}
}

// TestWhatNobodyHasSeenMissingBeginsAnew: a node may have come back since, and gone again (S17).
func TestWhatNobodyHasSeenMissingBeginsAnew(t *testing.T) {
	now, hour := fencetest.Start, observed.StampOf(fencetest.Start.Add(-time.Hour))
	for name, c := range map[string]struct {
		looked *api.Time
		since  time.Duration
	}{
		"somebody looks":          {ago(now, admission.MissingKept), time.Hour},
		"nobody did for too long": {ago(now, admission.MissingKept+time.Second), 0},
		"nobody ever did":         {nil, 0},
		"in the time to come":     {ago(now, -time.Hour), 0},
	} {
		p := fencetest.Expecting("a")
		p.Status.Missing, p.Status.ObservedAt = []api.MissingNode{{NodeName: "a", Since: hour}}, c.looked
		if got := admission.MissingNow(&p, admission.Picture{}, now); len(got) != 1 || now.Sub(got[0].Since.Time) != c.since {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func ago(now time.Time, by time.Duration) *api.Time {
	at := observed.StampOf(now.Add(-by))
	return &at
}

func TestAPolicySaysWhoIsMissing(t *testing.T) {
	_, c, l := fencetest.World(fencetest.Start)
	p := fencetest.Expecting("n1", "gone")
	for _, s := range []struct {
		after time.Duration
		want  string
	}{
		{0, "True AllPresent none is missing for too long"}, {admission.MissingKept, "True AllPresent none is missing for too long"},
		{2 * admission.MissingKept, "False NodeMissing without a Node: gone for 10m0s"},
	} {
		p.Status = admission.PolicyStatus(&p, []api.FencePolicy{p}, c, l, fencetest.Start.Add(s.after))
		looked := observed.StampOf(fencetest.Start.Add(s.after))
		p.Status.ObservedAt = &looked
		for _, got := range p.Status.Conditions {
			if is := fmt.Sprintf("%s %s %s", got.Status, got.Reason, got.Message); got.Type == admission.NodesPresent && is != s.want {
				t.Errorf("after %s: %s, want %s", s.after, is, s.want)
			}
		}
		if len(p.Status.Missing) != 1 || !p.Status.Missing[0].Since.Time.Equal(fencetest.Start) {
			t.Errorf("after %s: %+v", s.after, p.Status.Missing)
		}
	}
	p.Spec.MissingNodes, p.Spec.Machines = nil, nil
	if st := admission.PolicyStatus(&p, nil, c, l, fencetest.Start); st.Missing != nil || slices.ContainsFunc(st.Conditions, func(c metav1.Condition) bool { return c.Type == admission.NodesPresent }) {
		t.Errorf("nobody is expected: %+v", st)
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
		f, cl, l := fencetest.World(fencetest.Start)
		cl.Nodes[0].Unhealthy = false
		f.Name, f.Spec.NodeName = "gone", "gone"
		f.Status.Decision.Limits[0].Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}
		for i := range cl.Nodes {
			cl.Nodes[i].Labels = map[string]string{"pool": "db"}
		}
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}}
		cl.Fences = []api.NodeFence{*f}
		for _, node := range c.fences {
			other := fencetest.Running(node, "other", api.Fencing)
			other.Status.Decision.Limits, other.Status.Decision.Trigger = f.Status.Decision.Limits, f.Status.Decision.Trigger
			cl.Fences = append(cl.Fences, other)
		}
		p := fencetest.Expecting()
		for _, m := range c.missing {
			p.Status.Missing = append(p.Status.Missing, api.MissingNode{NodeName: m})
		}
		v := admission.Admit(f, admission.WithMissing(cl, []api.FencePolicy{p}), l, fencetest.Start)
		if got := fencetest.ReasonOf(v); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMissingNodesThatNobodyCounts: a full list may be a part of what is missing, and
// a part of a storm is no number to decide by (S14, S15). Machines without a node are
// the part that is cut.
func TestMissingNodesThatNobodyCounts(t *testing.T) {
	p := fencetest.Expecting()
	p.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode}
	c := admission.Picture{}
	for i := range admission.MaxHeld {
		c.Machines = append(c.Machines, policy.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: fmt.Sprint(i)}})
	}
	for nodes, held := range map[int]bool{admission.MaxHeld - 2: false, admission.MaxHeld: true} {
		p.Spec.MissingNodes.NodeNames = nil
		for i := range nodes {
			p.Spec.MissingNodes.NodeNames = append(p.Spec.MissingNodes.NodeNames, fmt.Sprint("gone-", i))
		}
		p.Status.Missing, p.Status.MissingCount = admission.Listed(admission.MissingNow(&p, c, fencetest.Start))
		if int(p.Status.MissingCount) != nodes+admission.MaxHeld || len(p.Status.Missing) != admission.MaxHeld || p.Status.Missing[nodes-1].NodeName == "" {
			t.Fatalf("%d missing: %+v", len(p.Status.Missing), p.Status.Missing[admission.MaxHeld-3:])
		}
		f, cl, l := fencetest.World(fencetest.Start)
		v := admission.Admit(f, admission.WithMissing(cl, []api.FencePolicy{p}), l, fencetest.Start)
		if got := v != nil && v.Reason == api.TooManyUnhealthy && strings.Contains(v.Message, "too many to count"); got != held {
			t.Errorf("%d are missing: %+v", nodes, v)
		}
	}
}
