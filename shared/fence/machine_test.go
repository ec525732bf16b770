package fence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func noted(key, value string) func(*Machine) {
	return func(m *Machine) { m.UID, m.Annotations = types.UID(m.Name), map[string]string{key: value} }
}

func TestWhichMachinesFail(t *testing.T) {
	now, hour := walkStart, walkStart.Add(-time.Hour)
	ago := func(m int) time.Time { return now.Add(-time.Duration(m) * time.Minute) }
	both := func(a, b func(*Machine)) func(*Machine) { return func(m *Machine) { a(m); b(m) } }
	asked := noted(askRemediation, "")
	words := "phase Failed, InsufficientResources, no room"
	for name, c := range map[string]struct {
		machine Machine
		fences  []api.NodeFence
		want    string
	}{
		"healthy":                  {machine("x", "n1", hour), nil, ""},
		"in phase Failed":          {machine("x", "n1", hour, failedMachine), nil, "m/x n1 u1 Failed " + words + " since 5m, due"},
		"without a node":           {machine("x", "", hour, failedMachine), nil, "m/x   Failed " + words + " since 5m, held: it has no node, and machines.withoutNode is not Delete"},
		"whose Node is gone":       {machine("x", "gone", hour, failedMachine), nil, "m/x gone  Failed " + words + " since 5m"},
		"asked for":                {machine("x", "n1", hour, asked), nil, "m/x n1 u1 Remediate annotation " + askRemediation + " since 0m, due"},
		"asked for, and done":      {machine("x", "n1", hour, asked), []api.NodeFence{machineFence("n1", "x", "", api.Finished, ago(600))}, "m/x n1 u1 Remediate annotation " + askRemediation + " since 0m, held: what its annotation asks for was done (fence 3)"},
		"somebody else's for now":  {machine("x", "n1", hour, both(noted(skipRemediation, "no"), failedMachine)), nil, "m/x n1 u1 Failed " + words + " since 5m, held: it has the annotation " + skipRemediation},
		"paused":                   {machine("x", "n1", hour, both(noted(paused, ""), failedMachine)), nil, "m/x n1 u1 Failed " + words + " since 5m, held: it has the annotation " + paused},
		"being deleted":            {machine("x", "n1", hour, both(func(m *Machine) { at := metav1.NewTime(now); m.DeletionTimestamp = &at }, failedMachine)), nil, ""},
		"of no pool that is meant": {machine("x", "n1", hour, both(func(m *Machine) { m.Labels = nil }, failedMachine)), nil, ""},
		"that replaces one": {machine("x", "n1", ago(5), failedMachine), []api.NodeFence{machineFence("old", "o", "pool", api.Finished, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, in 4m"},
		"that replaces one of another owner": {machine("x", "n1", ago(5), failedMachine), []api.NodeFence{machineFence("old", "o", "other", api.Finished, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, due"},
		"that fails beside another": {machine("x", "n1", hour, failedMachine), []api.NodeFence{machineFence("old", "o", "pool", api.Fencing, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, due"},
		"the third in a row": {machine("x", "n1", ago(5), failedMachine),
			[]api.NodeFence{machineFence("old", "o", "pool", api.Fenced, ago(60)), machineFence("newer", "p", "pool", api.Finished, ago(6))},
			"m/x n1 u1 Failed " + words + " since 5m, in 14m"},
		"fenced for it before, often": {machine("x", "n1", hour, failedMachine),
			[]api.NodeFence{machineFence("n1", "x", "pool", api.Finished, ago(6), ago(300), ago(200), ago(100), ago(2000), ago(60))},
			"m/x n1 u1 Failed " + words + " since 5m, in 114m"},
		"being fenced": {machine("x", "n1", hour, failedMachine), []api.NodeFence{machineFence("n1", "x", "pool", api.Fencing, ago(1), ago(30))},
			"m/x n1 u1 Failed " + words + " since 5m, due"},
	} {
		p := expecting()
		p.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{MatchLabels: map[string]string{"pool": "db"}}}
		p.Status.FailedMachines = []api.FailedMachine{{MachineRef: api.MachineRef{UID: "x"}, State: "Failed", Since: stampOf(ago(5))}}
		var got []string
		p.Status.FailedMachines = failedNow(&p, Cluster{Nodes: []ClusterNode{{Name: "n1", UID: "u1"}}, Machines: []Machine{c.machine}, Fences: c.fences}, now)
		for _, f := range p.Status.FailedMachines {
			s := fmt.Sprintf("%s %s %s %s %s since %.0fm", f.MachineRef, f.NodeName, f.NodeUID, f.State, f.Message, now.Sub(f.Since.Time).Minutes())
			if f.NotBefore != nil && f.NotBefore.After(now) {
				s += fmt.Sprintf(", in %.0fm", f.NotBefore.Sub(now).Minutes())
			}
			if f.Held != "" {
				s += ", held: " + f.Held
			}
			if MachineDue(&p, f.NodeName, "u1", now) != nil {
				s += ", due"
			}
			if MachineDue(&p, f.NodeName, "u2", now) != nil {
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
		f, c, l := admitWorld(walkStart)
		p := expecting()
		for i := range n {
			p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{NodeName: fmt.Sprintf("n%d", 9-i), Held: "it has the annotation " + paused})
		}
		was := c.Nodes[9].Unhealthy
		v := Admit(f, withMissing(c, []api.FencePolicy{p}), l, walkStart)
		if v == nil && want != "" || v != nil && v.Reason != want {
			t.Errorf("%d: %+v", n, v)
		}
		if c.Nodes[9].Unhealthy != was {
			t.Error("the caller's picture was changed")
		}
	}
	f, c, l := admitWorld(walkStart)
	p := expecting()
	p.Name = f.Status.Decision.Limits[0].Policy
	for i := range maxHeld {
		p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{NodeName: fmt.Sprintf("m%d", i)})
	}
	if v := Admit(f, withMissing(c, []api.FencePolicy{p}), l, walkStart); v == nil || v.Reason != api.TooManyUnhealthy || !strings.Contains(v.Message, "too many to count") {
		t.Errorf("more than are kept: %+v", v)
	}
}
