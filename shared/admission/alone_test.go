package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/policy"
)

// TestWhichMachinesWithoutANodeAreDeleted, and by whose leave.
func TestWhichMachinesWithoutANodeAreDeleted(t *testing.T) {
	now, hour := fencetest.Start, fencetest.Start.Add(-time.Hour)
	owned := func(m *policy.Machine) { fencetest.FailedMachine(m); m.Status.Phase = "Provisioned" }
	and := func(all ...func(*policy.Machine)) func(*policy.Machine) {
		return func(m *policy.Machine) {
			for _, c := range all {
				c(m)
			}
		}
	}
	note := func(key, value string) func(*policy.Machine) {
		return func(m *policy.Machine) { m.Annotations = map[string]string{key: value} }
	}
	label := func(key, value string) func(*policy.Machine) {
		return func(m *policy.Machine) { m.Labels[key] = value }
	}
	for name, c := range map[string]struct {
		machine policy.Machine
		change  func(*api.FencePolicySpec)
		fences  []api.NodeFence
		want    string
	}{
		"old enough":             {fencetest.Machine("x", "", hour, owned), nil, nil, "NoNode, due"},
		"young":                  {fencetest.Machine("x", "", now.Add(-9*time.Minute), owned), nil, nil, ""},
		"young, and Failed":      {fencetest.Machine("x", "", now, fencetest.FailedMachine), nil, nil, "Failed, due"},
		"with a node":            {fencetest.Machine("x", "n1", hour, owned), nil, nil, ""},
		"Failed, with a node":    {fencetest.Machine("x", "n1", hour, fencetest.FailedMachine), nil, nil, "Failed"},
		"no policy says so":      {fencetest.Machine("x", "", hour, owned), func(s *api.FencePolicySpec) { s.Machines.WithoutNode = new(api.ReportMachine) }, nil, ""},
		"Failed, no policy says": {fencetest.Machine("x", "", hour, fencetest.FailedMachine), func(s *api.FencePolicySpec) { s.Machines.WithoutNode = new(api.ReportMachine) }, nil, "Failed, held: it has no node, and machines.withoutNode is not Delete"},
		"a policy that isolates": {fencetest.Machine("x", "", hour, owned), func(s *api.FencePolicySpec) { s.Action = api.ActionIsolate }, nil, "NoNode, held: it has no node, and the policy's action is Isolate"},
		"without an owner":       {fencetest.Machine("x", "", hour, and(owned, func(m *policy.Machine) { m.OwnerReferences[0].Controller = nil })), nil, nil, "NoNode, held: no owner controls it: nobody would make another one in its place"},
		"skipped":                {fencetest.Machine("x", "", hour, and(owned, note(policy.SkipRemediation, ""))), nil, nil, "NoNode, held: it has the annotation " + policy.SkipRemediation},
		"its BMC's":              {fencetest.Machine("x", "", hour, and(owned, note("machine.openshift.io/remediation-strategy", "external-baremetal"))), nil, nil, "NoNode, held: it has the annotation " + "machine.openshift.io/remediation-strategy=external-baremetal"},
		"of the control plane":   {fencetest.Machine("x", "", hour, and(owned, label("cluster.x-k8s.io/control-plane", ""))), nil, nil, "NoNode, held: it is of the control plane"},
		"of etcd":                {fencetest.Machine("x", "", hour, and(owned, label("node-role.kubernetes.io/etcd", "true"))), nil, nil, "NoNode, held: it is of the control plane"},
		"of OpenShift's":         {fencetest.Machine("x", "", hour, and(owned, label("machine.openshift.io/cluster-api-machine-role", "master"))), nil, nil, "NoNode, held: it is of the control plane"},
		"a worker of OpenShift":  {fencetest.Machine("x", "", hour, and(owned, label("machine.openshift.io/cluster-api-machine-role", "worker"))), nil, nil, "NoNode, due"},
		"a Node has its name":    {fencetest.Machine("n1", "", hour, owned), nil, nil, "NoNode, held: it names no node, and a Node has its name"},
		"one that replaces one that was deleted": {fencetest.Machine("x", "", now.Add(-11*time.Minute), owned), nil,
			[]api.NodeFence{fencetest.MachineFence("old", "o", "pool", api.Finished, now.Add(-12*time.Minute)), fencetest.MachineFence("older", "p", "pool", api.Finished, now.Add(-40*time.Minute))}, "NoNode, in 8m"},
	} {
		p := fencetest.Expecting()
		p.Spec.Action = api.ActionReboot
		p.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode, WithoutNode: new(api.DeleteMachine)}
		if c.change != nil {
			c.change(&p.Spec)
		}
		p.Status.FailedMachines = admission.FailedNow(&p, admission.Picture{Nodes: []admission.Node{{Name: "n1", UID: "u1"}}, Machines: []policy.Machine{c.machine}, Fences: c.fences}, now)
		var got []string
		for _, f := range p.Status.FailedMachines {
			s := string(f.State)
			if f.NotBefore != nil && f.NotBefore.After(now) {
				s += fmt.Sprintf(", in %.0fm", f.NotBefore.Sub(now).Minutes())
			}
			if f.Held != "" {
				s += ", held: " + f.Held
			}
			r, trigger, ok := policy.ResolveAlone([]api.FencePolicy{p}, f.Record(), now)
			if ok {
				s += ", due"
			}
			if ok && (!trigger.OnlyMachine() || r.Policy.Name != "p" || len(r.Limits) != 1 || policy.AloneDue(&p, f.UID, now) == nil) {
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
		f, c, l := fencetest.World(fencetest.Start)
		p := fencetest.Expecting()
		p.Name, p.Spec.Machines = f.Status.Decision.Limits[0].Policy, &api.MachinesRule{Selector: policy.EveryNode, WithoutNode: new(api.DeleteMachine)}
		for i := range n {
			p.Status.FailedMachines = append(p.Status.FailedMachines, api.FailedMachine{MachineRef: api.MachineRef{Namespace: "m", Name: fmt.Sprintf("x%d", i)}})
		}
		v := admission.Admit(f, admission.WithMissing(c, []api.FencePolicy{p}), l, fencetest.Start)
		if v == nil && want != "" || v != nil && v.Reason != want {
			t.Errorf("%d: %+v", n, v)
		}
	}
}
