package fence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhichMachinesWithoutANodeAreDeleted, and by whose leave.
func TestWhichMachinesWithoutANodeAreDeleted(t *testing.T) {
	now, hour := walkStart, walkStart.Add(-time.Hour)
	owned := func(m *Machine) { failedMachine(m); m.Status.Phase = "Provisioned" }
	and := func(all ...func(*Machine)) func(*Machine) {
		return func(m *Machine) {
			for _, c := range all {
				c(m)
			}
		}
	}
	note := func(key, value string) func(*Machine) {
		return func(m *Machine) { m.Annotations = map[string]string{key: value} }
	}
	label := func(key, value string) func(*Machine) {
		return func(m *Machine) { m.Labels[key] = value }
	}
	for name, c := range map[string]struct {
		machine Machine
		change  func(*api.FencePolicySpec)
		fences  []api.NodeFence
		want    string
	}{
		"old enough":             {machine("x", "", hour, owned), nil, nil, "NoNode, due"},
		"young":                  {machine("x", "", now.Add(-9*time.Minute), owned), nil, nil, ""},
		"young, and Failed":      {machine("x", "", now, failedMachine), nil, nil, "Failed, due"},
		"with a node":            {machine("x", "n1", hour, owned), nil, nil, ""},
		"Failed, with a node":    {machine("x", "n1", hour, failedMachine), nil, nil, "Failed"},
		"no policy says so":      {machine("x", "", hour, owned), func(s *api.FencePolicySpec) { s.Machines.WithoutNode = new(api.ReportMachine) }, nil, ""},
		"Failed, no policy says": {machine("x", "", hour, failedMachine), func(s *api.FencePolicySpec) { s.Machines.WithoutNode = new(api.ReportMachine) }, nil, "Failed, held: it has no node, and machines.withoutNode is not Delete"},
		"a policy that isolates": {machine("x", "", hour, owned), func(s *api.FencePolicySpec) { s.Action = api.ActionIsolate }, nil, "NoNode, held: it has no node, and the policy's action is Isolate"},
		"without an owner":       {machine("x", "", hour, and(owned, func(m *Machine) { m.OwnerReferences[0].Controller = nil })), nil, nil, "NoNode, held: no owner controls it: nobody would make another one in its place"},
		"skipped":                {machine("x", "", hour, and(owned, note(skipRemediation, ""))), nil, nil, "NoNode, held: it has the annotation " + skipRemediation},
		"its BMC's":              {machine("x", "", hour, and(owned, note("machine.openshift.io/remediation-strategy", "external-baremetal"))), nil, nil, "NoNode, held: it has the annotation " + "machine.openshift.io/remediation-strategy=external-baremetal"},
		"of the control plane":   {machine("x", "", hour, and(owned, label("cluster.x-k8s.io/control-plane", ""))), nil, nil, "NoNode, held: it is of the control plane"},
		"of etcd":                {machine("x", "", hour, and(owned, label("node-role.kubernetes.io/etcd", "true"))), nil, nil, "NoNode, held: it is of the control plane"},
		"of OpenShift's":         {machine("x", "", hour, and(owned, label("machine.openshift.io/cluster-api-machine-role", "master"))), nil, nil, "NoNode, held: it is of the control plane"},
		"a worker of OpenShift":  {machine("x", "", hour, and(owned, label("machine.openshift.io/cluster-api-machine-role", "worker"))), nil, nil, "NoNode, due"},
		"a Node has its name":    {machine("n1", "", hour, owned), nil, nil, "NoNode, held: it names no node, and a Node has its name"},
		"one that replaces one that was deleted": {machine("x", "", now.Add(-11*time.Minute), owned), nil,
			[]api.NodeFence{machineFence("old", "o", "pool", api.Finished, now.Add(-12*time.Minute)), machineFence("older", "p", "pool", api.Finished, now.Add(-40*time.Minute))}, "NoNode, in 8m"},
	} {
		p := expecting()
		p.Spec.Action = api.ActionReboot
		p.Spec.Machines = &api.MachinesRule{Selector: everyNode, WithoutNode: new(api.DeleteMachine)}
		if c.change != nil {
			c.change(&p.Spec)
		}
		p.Status.FailedMachines = failedNow(&p, Cluster{Nodes: []ClusterNode{{Name: "n1", UID: "u1"}}, Machines: []Machine{c.machine}, Fences: c.fences}, now)
		var got []string
		for _, f := range p.Status.FailedMachines {
			s := string(f.State)
			if f.NotBefore != nil && f.NotBefore.After(now) {
				s += fmt.Sprintf(", in %.0fm", f.NotBefore.Sub(now).Minutes())
			}
			if f.Held != "" {
				s += ", held: " + f.Held
			}
			r, trigger, ok := ResolveAlone([]api.FencePolicy{p}, f.Record(), now)
			if ok {
				s += ", due"
			}
			if ok && (!trigger.OnlyMachine() || r.Policy.Name != "p" || len(r.Limits) != 1 || AloneDue(&p, f.UID, now) == nil) {
				t.Errorf("%s: %+v %+v", name, r, trigger)
			}
			got = append(got, s)
		}
		if is := strings.Join(got, "; "); is != c.want {
			t.Errorf("%s: %q, want %q", name, is, c.want)
		}
	}
}

// TestMachinesWithoutANodeAreCounted: a pool none of whose Machines comes up is a storm (S14).
func TestMachinesWithoutANodeAreCounted(t *testing.T) {
	for n, want := range map[int]api.Reason{2: "", 6: api.TooManyUnhealthy} {
		f, c, l := admitWorld(walkStart)
		p := expecting()
		p.Name, p.Spec.Machines = f.Status.Decision.Limits[0].Policy, &api.MachinesRule{Selector: everyNode, WithoutNode: new(api.DeleteMachine)}
		for i := range n {
			p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{MachineRef: api.MachineRef{Namespace: "m", Name: fmt.Sprintf("x%d", i)}})
		}
		v := Admit(f, withMissing(c, []api.FencePolicy{p}), l, walkStart)
		if v == nil && want != "" || v != nil && v.Reason != want {
			t.Errorf("%d: %+v", n, v)
		}
	}
}
