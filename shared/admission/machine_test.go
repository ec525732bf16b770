package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

func noted(key, value string) func(*policy.Machine) {
	return func(m *policy.Machine) { m.UID, m.Annotations = types.UID(m.Name), map[string]string{key: value} }
}

func TestWhichMachinesFail(t *testing.T) {
	now, hour := fencetest.Start, fencetest.Start.Add(-time.Hour)
	ago := func(m int) time.Time { return now.Add(-time.Duration(m) * time.Minute) }
	both := func(a, b func(*policy.Machine)) func(*policy.Machine) { return func(m *policy.Machine) { a(m); b(m) } }
	asked := noted(policy.AskRemediation, "")
	words := "phase Failed, InsufficientResources, no room"
	for name, c := range map[string]struct {
		machine policy.Machine
		fences  []api.NodeFence
		want    string
	}{
		"healthy":                  {fencetest.Machine("x", "n1", hour), nil, ""},
		"in phase Failed":          {fencetest.Machine("x", "n1", hour, fencetest.FailedMachine), nil, "m/x n1 u1 Failed " + words + " since 5m, due"},
		"without a node":           {fencetest.Machine("x", "", hour, fencetest.FailedMachine), nil, "m/x   Failed " + words + " since 5m, held: it has no node, and machines.withoutNode is not Delete"},
		"whose Node is gone":       {fencetest.Machine("x", "gone", hour, fencetest.FailedMachine), nil, "m/x gone  Failed " + words + " since 5m"},
		"asked for":                {fencetest.Machine("x", "n1", hour, asked), nil, "m/x n1 u1 Remediate annotation " + policy.AskRemediation + " since 0m, due"},
		"asked for, and done":      {fencetest.Machine("x", "n1", hour, asked), []api.NodeFence{fencetest.MachineFence("n1", "x", "", api.Finished, ago(600))}, "m/x n1 u1 Remediate annotation " + policy.AskRemediation + " since 0m, held: what its annotation asks for was done (fence 3)"},
		"somebody else's for now":  {fencetest.Machine("x", "n1", hour, both(noted(policy.SkipRemediation, "no"), fencetest.FailedMachine)), nil, "m/x n1 u1 Failed " + words + " since 5m, held: it has the annotation " + policy.SkipRemediation},
		"paused":                   {fencetest.Machine("x", "n1", hour, both(noted(policy.Paused, ""), fencetest.FailedMachine)), nil, "m/x n1 u1 Failed " + words + " since 5m, held: it has the annotation " + policy.Paused},
		"being deleted":            {fencetest.Machine("x", "n1", hour, both(func(m *policy.Machine) { at := metav1.NewTime(now); m.DeletionTimestamp = &at }, fencetest.FailedMachine)), nil, ""},
		"of no pool that is meant": {fencetest.Machine("x", "n1", hour, both(func(m *policy.Machine) { m.Labels = nil }, fencetest.FailedMachine)), nil, ""},
		"that replaces one": {fencetest.Machine("x", "n1", ago(5), fencetest.FailedMachine), []api.NodeFence{fencetest.MachineFence("old", "o", "pool", api.Finished, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, in 4m"},
		"that replaces one of another owner": {fencetest.Machine("x", "n1", ago(5), fencetest.FailedMachine), []api.NodeFence{fencetest.MachineFence("old", "o", "other", api.Finished, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, due"},
		"that fails beside another": {fencetest.Machine("x", "n1", hour, fencetest.FailedMachine), []api.NodeFence{fencetest.MachineFence("old", "o", "pool", api.Fencing, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, due"},
		"the third in a row": {fencetest.Machine("x", "n1", ago(5), fencetest.FailedMachine),
			[]api.NodeFence{fencetest.MachineFence("old", "o", "pool", api.Fenced, ago(60)), fencetest.MachineFence("newer", "p", "pool", api.Finished, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, in 14m"},
		"fenced for it before, often": {fencetest.Machine("x", "n1", hour, fencetest.FailedMachine),
			[]api.NodeFence{fencetest.MachineFence("n1", "x", "pool", api.Finished, ago(6), ago(300), ago(200), ago(100), ago(2000), ago(60))},
			"m/x n1 u1 Failed " + words + " since 5m, in 114m"},
		"being fenced": {fencetest.Machine("x", "n1", hour, fencetest.FailedMachine), []api.NodeFence{fencetest.MachineFence("n1", "x", "pool", api.Fencing, ago(1), ago(30))},
			"m/x n1 u1 Failed " + words + " since 5m, due"},
	} {
		p := fencetest.Expecting()
		p.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}}
		p.Status.FailedMachines = []api.FailedMachine{{MachineRef: api.MachineRef{UID: "x"}, State: "Failed", Since: observed.StampOf(ago(5))}}
		var got []string
		p.Status.FailedMachines = admission.FailedNow(&p, admission.Picture{Nodes: []admission.Node{{Name: "n1", UID: "u1"}}, Machines: []policy.Machine{c.machine}, Fences: c.fences}, now)
		for _, f := range p.Status.FailedMachines {
			s := fmt.Sprintf("%s %s %s %s %s since %.0fm", f.MachineRef, f.NodeName, f.NodeUID, f.State, f.Message, now.Sub(f.Since.Time).Minutes())
			if f.NotBefore != nil && f.NotBefore.After(now) {
				s += fmt.Sprintf(", in %.0fm", f.NotBefore.Sub(now).Minutes())
			}
			if f.Held != "" {
				s += ", held: " + f.Held
			}
			if policy.MachineDue(&p, f.NodeName, "u1", now) != nil {
				s += ", due"
			}
			if policy.MachineDue(&p, f.NodeName, "u2", now) != nil {
				t.Errorf("%s: due for another Node of the name (S6)", name)
			}
			got = append(got, s)
		}
		if d := cmp.Diff(c.want, strings.Join(got, "; ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestFailedMachinesAreCounted: a pool whose Machines all fail is a storm (S14).
func TestFailedMachinesAreCounted(t *testing.T) {
	for n, want := range map[int]api.Reason{2: "", 3: api.TooManyUnhealthy} {
		f, c, l := fencetest.World(fencetest.Start)
		p := fencetest.Expecting()
		for i := range n {
			p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{NodeName: fmt.Sprintf("n%d", 9-i), Held: "it has the annotation " + policy.Paused})
		}
		was := c.Nodes[9].Unhealthy
		v := admission.Admit(f, admission.WithMissing(c, []api.FencePolicy{p}), l, fencetest.Start)
		if v == nil && want != "" || v != nil && v.Reason != want {
			t.Errorf("%d: %+v", n, v)
		}
		if c.Nodes[9].Unhealthy != was {
			t.Error("the caller's picture was changed")
		}
	}
	f, c, l := fencetest.World(fencetest.Start)
	p := fencetest.Expecting()
	p.Name = f.Status.Decision.Limits[0].Policy
	for i := range admission.MaxHeld {
		p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{NodeName: fmt.Sprintf("m%d", i)})
	}
	if v := admission.Admit(f, admission.WithMissing(c, []api.FencePolicy{p}), l, fencetest.Start); v == nil || v.Reason != api.TooManyUnhealthy || !strings.Contains(v.Message, "too many to count") {
		t.Errorf("more than are kept: %+v", v)
	}
}
