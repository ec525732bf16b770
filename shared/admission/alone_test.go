package admission_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/look"
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
	const mend = ": see why nothing writes status.nodeRef, or delete this Machine by hand"
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
		"a Node has its name":    {fencetest.Machine("n1", "", hour, owned), nil, nil, "NoNode, held: it names no node, and Node n1 has its name" + mend},
		"one that replaces one that was deleted": {fencetest.Machine("x", "", now.Add(-11*time.Minute), owned), nil,
			[]api.NodeFence{fencetest.MachineFence("old", "o", "pool", api.Finished, now.Add(-12*time.Minute)), fencetest.MachineFence("older", "p", "pool", api.Finished, now.Add(-40*time.Minute))}, "NoNode, in 8m"},
	} {
		p := fencetest.Expecting()
		p.Spec.Action = api.ActionReboot
		p.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode, WithoutNode: new(api.DeleteMachine)}
		if c.change != nil {
			c.change(&p.Spec)
		}
		p.Status.FailedMachines = admission.FailedNow(&p, admission.Picture{Nodes: []admission.Node{{Name: "n1", UID: "u1", Identity: policy.NodeIdentity{Name: "n1"}}}, Machines: []policy.Machine{c.machine}, Fences: c.fences}, now)
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

// TestAMachineWhoseNodeIsThereIsNotDeleted: the controller that writes status.nodeRef is down, and
// the Machine's instance has joined as a Node. So a Machine has no node only if the Nodes were
// seen, and none of them may be its own (S2: what is unknown is never taken for off).
func TestAMachineWhoseNodeIsThereIsNotDeleted(t *testing.T) {
	now := fencetest.Start
	const mend = ": see why nothing writes status.nodeRef, or delete this Machine by hand"
	address := func(kind corev1.NodeAddressType, is string) []corev1.NodeAddress {
		return []corev1.NodeAddress{{Type: kind, Address: is}}
	}
	for name, c := range map[string]struct {
		change func(*policy.Machine, *corev1.Node)
		want   string
	}{
		"nothing in common":                {func(*policy.Machine, *corev1.Node) {}, ""},
		"its provider ID":                  {func(m *policy.Machine, n *corev1.Node) { n.Spec.ProviderID = m.Spec.ProviderID }, "it names no node, and Node ip-192-0-2-1 has its provider ID" + mend},
		"its provider ID in other letters": {func(m *policy.Machine, n *corev1.Node) { n.Spec.ProviderID = strings.ToUpper(m.Spec.ProviderID) }, "it names no node, and Node ip-192-0-2-1 has its provider ID" + mend},
		"its name":                         {func(m *policy.Machine, n *corev1.Node) { n.Name = m.Name }, "it names no node, and Node worker-x7k2p has its name" + mend},
		"its address": {func(m *policy.Machine, n *corev1.Node) {
			m.Status.Addresses, n.Status.Addresses = address(corev1.NodeInternalIP, "192.0.2.1"), address(corev1.NodeInternalIP, "192.0.2.1")
		}, "it names no node, and Node ip-192-0-2-1 has its address 192.0.2.1" + mend},
		"its host name": {func(m *policy.Machine, n *corev1.Node) {
			m.Status.Addresses = address(corev1.NodeInternalDNS, "IP-192-0-2-1")
		}, "it names no node, and Node ip-192-0-2-1 has its address IP-192-0-2-1" + mend},
		"an address of before": {func(m *policy.Machine, n *corev1.Node) {
			m.Status.Addresses, n.Status.Addresses = address(corev1.NodeInternalIP, "192.0.2.1"), address(corev1.NodeInternalIP, "192.0.2.1")
			n.Spec.ProviderID = "aws:///eu-central-1a/i-other"
		}, ""},
		"an annotation of OpenShift": {func(m *policy.Machine, n *corev1.Node) {
			n.Annotations = map[string]string{"machine.openshift.io/machine": "m/" + m.Name}
		}, "it names no node, and Node ip-192-0-2-1 names it in an annotation" + mend},
		"an annotation of Cluster API": {func(m *policy.Machine, n *corev1.Node) {
			n.Annotations = map[string]string{"cluster.x-k8s.io/machine": m.Name, "cluster.x-k8s.io/cluster-namespace": "m"}
		}, "it names no node, and Node ip-192-0-2-1 names it in an annotation" + mend},
		"a Machine of another namespace": {func(m *policy.Machine, n *corev1.Node) {
			n.Annotations = map[string]string{"cluster.x-k8s.io/machine": m.Name, "cluster.x-k8s.io/cluster-namespace": "other"}
		}, ""},
		"no Node was listed": {func(_ *policy.Machine, n *corev1.Node) { n.Name = "" }, "it names no node, and no Node was seen: whether a Node is its own is not known"},
	} {
		for _, kind := range []string{"machine.openshift.io/v1beta1", "cluster.x-k8s.io/v1beta2"} {
			m := fencetest.Machine("worker-x7k2p", "", now.Add(-time.Hour), fencetest.FailedMachine)
			m.APIVersion, m.Spec.ProviderID, m.Status.Phase = kind, "aws:///eu-central-1a/i-0123", "Provisioned"
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ip-192-0-2-1"}}
			c.change(&m, &n)
			p := fencetest.Expecting()
			p.Spec.Action = api.ActionReboot
			p.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode, WithoutNode: new(api.DeleteMachine)}
			nodes := look.ClusterNodes([]corev1.Node{n})
			if n.Name == "" {
				nodes = []admission.Node{{Alike: 3}} // the nodes of a census
			}
			p.Status.FailedMachines = admission.FailedNow(&p, admission.Picture{Nodes: nodes, Machines: []policy.Machine{m}}, now)
			var held []string
			for _, f := range p.Status.FailedMachines {
				held = append(held, f.Held)
			}
			_, _, due := policy.ResolveAlone([]api.FencePolicy{p}, m.Name, now)
			if d := cmp.Diff([]string{c.want}, held); d != "" || due != (c.want == "") {
				t.Errorf("%s, %s: due %t\n%s", name, kind, due, d)
			}
		}
	}
}

// TestAMissingNodeThatHasJoinedUnderAnotherName is left alone: its Machine's provider ID is that of
// a Node that is there (S2).
func TestAMissingNodeThatHasJoinedUnderAnotherName(t *testing.T) {
	now := fencetest.Start
	m := fencetest.Machine("x", "old", now.Add(-time.Hour), fencetest.FailedMachine)
	m.Spec.ProviderID = "aws:///eu-central-1a/i-0123"
	for of, want := range map[string]string{"aws:///eu-central-1a/i-0123": "Machine m/x has joined as another Node: Node new has its provider ID", "aws:///eu-central-1a/i-9": ""} {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: corev1.NodeSpec{ProviderID: of}}
		p := fencetest.Expecting("old")
		p.Spec.Machines = &api.MachinesRule{Selector: policy.EveryNode}
		for _, missing := range admission.MissingNow(&p, admission.Picture{Nodes: look.ClusterNodes([]corev1.Node{n}), Machines: []policy.Machine{m}}, now) {
			if missing.NodeName != "old" || missing.Held != want {
				t.Errorf("%s: %q held %q", of, missing.NodeName, missing.Held)
			}
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
