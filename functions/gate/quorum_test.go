package gate

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// planeNode is a node of the control plane.
func planeNode(name string, ready corev1.ConditionStatus) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.ControlPlaneLabel: ""}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	return n
}

func etcdPod(node string, ready corev1.ConditionStatus, command ...string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-" + node}, Spec: corev1.PodSpec{NodeName: node}}
	p.Spec.Containers = []corev1.Container{{Command: append([]string{"etcd", "--name=" + node}, command...)}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return p
}

// TestQuorumSaysWhoCounts: where etcd would lose its quorum, it is said which member counts
// though it is not well, from where that is known, and what to do if it is none any more:
// the policy as it stands says so, also of a fence that is held already (S13, S28).
func TestQuorumSaysWhoCounts(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	const has4, needs3 = "etcd has 4 members, 2 of them healthy without this one (not ", "), and needs 3"
	const mend = ": if one of them has left etcd for good, take it out of spec.controlPlane.etcdNodeNames of policy p and of --initial-cluster in the manifests of etcd, and delete its Node and its pod; a member that is not listed beside others is to be listed"
	for name, c := range map[string]struct {
		node  []corev1.Node
		pods  []corev1.Pod
		named string
		etcd  []string
		want  string
	}{
		"all are well": {nil, nil, "", nil, ""},
		"one is named by another's flag": {nil, nil, "--initial-cluster=cp-0=https://192.0.2.9:2380,cp-3=https://192.0.2.3:2380", nil,
			has4 + "cp-0: named in --initial-cluster of pod etcd-cp-3, and no pod of it is there" + needs3 + mend},
		"the policy lists the others alone": {nil, nil, "--initial-cluster=cp-0=https://192.0.2.9:2380,cp-3=https://192.0.2.3:2380", []string{"cp-1", "cp-2", "cp-3"},
			has4 + "cp-0: named in --initial-cluster of pod etcd-cp-3, and no pod of it is there, and it is not listed in spec.controlPlane.etcdNodeNames" + needs3 + mend},
		"the policy lists what is observed": {nil, nil, "", []string{"cp-1", "cp-2", "cp-3"}, ""},
		"three of five are listed, and the two others are lost": {[]corev1.Node{planeNode("cp-0", no), planeNode("cp-4", no)}, []corev1.Pod{etcdPod("cp-0", no), etcdPod("cp-4", no)}, "", []string{"cp-1", "cp-2", "cp-3"},
			"etcd has 5 members, 2 of them healthy without this one (not cp-0: pod etcd-cp-0 is bound to it, its Node is not Ready, and it is not listed in spec.controlPlane.etcdNodeNames; " +
				"cp-4: pod etcd-cp-4 is bound to it, its Node is not Ready, and it is not listed in spec.controlPlane.etcdNodeNames" + needs3 + mend},
		"one that is well is not listed": {[]corev1.Node{planeNode("cp-0", yes)}, []corev1.Pod{etcdPod("cp-0", yes)}, "", []string{"cp-1", "cp-2", "cp-3"},
			has4 + "cp-0: it runs a pod of etcd, and it is not listed in spec.controlPlane.etcdNodeNames" + needs3 + mend},
		"a pod was left over without a Node": {nil, []corev1.Pod{etcdPod("cp-0", yes)}, "", nil,
			has4 + "cp-0: pod etcd-cp-0 is bound to it, there is no such Node" + needs3 + mend},
		"a pod was left over on a dead Node": {[]corev1.Node{planeNode("cp-0", no)}, []corev1.Pod{etcdPod("cp-0", yes)}, "", nil,
			has4 + "cp-0: pod etcd-cp-0 is bound to it, its Node is not Ready" + needs3 + mend},
		"a pod is not well": {[]corev1.Node{planeNode("cp-0", yes)}, []corev1.Pod{etcdPod("cp-0", no)}, "", nil,
			has4 + "cp-0: its pod etcd-cp-0 is not Ready" + needs3 + mend},
		"a Node was left over": {[]corev1.Node{planeNode("cp-0", yes)}, nil, "", nil,
			has4 + "cp-0: a control-plane node without a pod of etcd" + needs3 + mend},
		"the list itself is old": {nil, nil, "", []string{"cp-0", "cp-1", "cp-2", "cp-3"},
			has4 + "cp-0: listed in spec.controlPlane.etcdNodeNames, there is no such Node" + needs3 + mend},
	} {
		t.Run(name, func(t *testing.T) {
			last := etcdPod("cp-3", yes)
			if c.named != "" {
				last = etcdPod("cp-3", yes, c.named)
			}
			got := refusal(t, "cp-2", api.WithQuorum, c.etcd,
				append(c.node, planeNode("cp-1", yes), planeNode("cp-2", no), planeNode("cp-3", yes)),
				append(c.pods, etcdPod("cp-1", yes), etcdPod("cp-2", yes), last))
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestWhoIsListedAsEtcdsIsLeftAlone, whatever its labels, where no policy says Quorum (S13).
func TestWhoIsListedAsEtcdsIsLeftAlone(t *testing.T) {
	const want = "etcd runs on this node, as a policy's spec.controlPlane.etcdNodeNames says, and policy p never fences those (controlPlane.fence: Never)"
	for node, want := range map[string]string{"w-1": want, "w-2": ""} {
		a, b := planeNode("w-1", corev1.ConditionFalse), planeNode("w-2", corev1.ConditionFalse)
		a.Labels, b.Labels = nil, nil
		others := []corev1.Node{planeNode("a", corev1.ConditionTrue), planeNode("b", corev1.ConditionTrue), planeNode("c", corev1.ConditionTrue)}
		if got := refusal(t, node, api.Never, []string{"w-1", "a", "b"}, append(others, a, b), nil); got != want {
			t.Errorf("%s: %q, want %q", node, got, want)
		}
	}
}

// TestAnotherPolicysEtcd: a node that only another policy lists is a member all the same,
// and that list must keep its quorum (S13).
func TestAnotherPolicysEtcd(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for name, c := range map[string]struct {
		third corev1.ConditionStatus
		want  string
	}{
		"the others are well": {yes, ""},
		"one of them is not": {no, "etcd has 3 members, 1 of them healthy without this one (not w-3: listed in spec.controlPlane.etcdNodeNames of policy q, and no Ready Node), and needs 2: " +
			"if one of them has left etcd for good, take it out of spec.controlPlane.etcdNodeNames of policy q and of --initial-cluster in the manifests of etcd, and delete its Node and its pod; a member that is not listed beside others is to be listed"},
	} {
		nodes := []corev1.Node{planeNode("w-1", no), planeNode("w-2", yes), planeNode("w-3", c.third), planeNode("a", yes), planeNode("b", yes), planeNode("c", yes)}
		for i := range nodes {
			nodes[i].Labels = nil
		}
		other := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: api.FencePolicySpec{Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, ControlPlane: api.ControlPlane{EtcdNodeNames: []string{"w-1", "w-2", "w-3"}}}}
		if got := refusal(t, "w-1", api.WithQuorum, nil, nodes, nil, other); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// refusal is why a fence of this node gets no slot; empty if it does. Its own copy of the
// policy is from before anybody listed the nodes of etcd.
func refusal(t *testing.T, node string, rule api.ControlPlaneRule, etcd []string, nodes []corev1.Node, pods []corev1.Pod, others ...api.FencePolicy) string {
	t.Helper()
	text := func(obj any) string {
		raw, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	now := time.Now()
	f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "f"}}
	f.Spec.NodeName, f.Status.FenceNumber = node, 1
	f.Status.Decision.ResolvedPolicy = api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Settings: api.Settings{ControlPlane: api.ControlPlaneSetting{Fence: rule}}}
	at, since := metav1.NewMicroTime(now), metav1.NewMicroTime(now.Add(-time.Hour))
	led := api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName}}
	led.Status.Leases = api.LeasePicture{Since: &since, ObservedAt: &at, Total: 9}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, ControlPlane: api.ControlPlane{Fence: new(rule), EtcdNodeNames: etcd}}}
	all := intstr.FromString("100%")
	p.Spec.Limits.MaxUnhealthy = &all
	before := p
	before.Spec.ControlPlane.EtcdNodeNames = nil
	f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(append([]api.FencePolicy{before}, others...), node, nil)
	g, _ := server(t, map[string]string{
		ledgerPath:                               text(led),
		policyPath:                               text(api.FencePolicyList{Items: append(others, p)}),
		"/api/v1/nodes":                          text(corev1.NodeList{Items: nodes}),
		"/apis/nodefence.io/v1alpha1/nodefences": text(api.NodeFenceList{Items: []api.NodeFence{f}}),
		"/apis/nodefence.io/v1alpha1/fencebudgets": `{"items":[]}`,
		"/api/v1/namespaces/kube-system/pods":      text(corev1.PodList{Items: pods}),
	})
	var seen observed.Look
	if err := g.ask(t.Context(), &f, &seen, false); err != nil {
		t.Fatal(err)
	}
	if seen.Verdict == nil {
		return ""
	}
	return seen.Verdict.Message
}
