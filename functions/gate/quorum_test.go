package gate

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
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

// staticPod is the mirror of a static pod of the control plane.
func staticPod(name, node, label, program string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: name, Labels: map[string]string{"tier": "control-plane", label: program},
		Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
	}, Spec: corev1.PodSpec{NodeName: node}}
}

// TestAStaticPodProtectsItsNode: a node without a label or taint of the control plane is never fenced,
// nor drained, under controlPlane.fence Never while a static pod of an API server or of etcd is bound
// to it. Such a pod does not make the node a member of etcd that counts as healthy (S13).
func TestAStaticPodProtectsItsNode(t *testing.T) {
	const spared = "policy p never fences control-plane nodes (controlPlane.fence: Never); the node counts as one by static pod kube-system/"
	plain := staticPod("etcd-backup", "w-1", "component", "etcd")
	plain.Annotations = nil
	nodes := []corev1.Node{planeNode("w-1", corev1.ConditionFalse), planeNode("w-2", corev1.ConditionTrue)}
	for i := range nodes {
		nodes[i].Labels = nil
	}
	for name, c := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"etcd":                      {staticPod("etcd-w-1", "w-1", "component", "etcd"), spared + "etcd-w-1"},
		"an API server":             {staticPod("kube-apiserver-w-1", "w-1", "component", "kube-apiserver"), spared + "kube-apiserver-w-1"},
		"an API server of Talos":    {staticPod("kube-apiserver-w-1", "w-1", "k8s-app", "kube-apiserver"), spared + "kube-apiserver-w-1"},
		"another program":           {staticPod("kube-vip-w-1", "w-1", "component", "kube-vip"), ""},
		"no static pod":             {plain, ""},
		"etcd of another node":      {staticPod("etcd-w-2", "w-2", "component", "etcd"), ""},
		"a pod that no node has":    {staticPod("etcd-w-1", "", "component", "etcd"), ""},
		"a pod without its program": {staticPod("etcd-w-1", "w-1", "component", ""), ""},
	} {
		if got := refusal(t, "w-1", api.Never, nil, nodes, []corev1.Pod{c.pod}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	healthy := staticPod("etcd-w-2", "w-2", "component", "etcd")
	healthy.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	got := refusal(t, "w-1", api.WithQuorum, nil, nodes, []corev1.Pod{staticPod("etcd-w-1", "w-1", "component", "etcd"), healthy})
	if !strings.HasPrefix(got, "etcd has 2 members, 0 of them healthy without this one (not w-2: ") {
		t.Errorf("by quorum: %q", got)
	}
}

// TestAFenceThatAStaticPodHolds: nothing is reserved and nothing is placed, the fence looks again, and
// another fence of the same batch goes on. If the pods can't be read, no fence goes on (S13).
func TestAFenceThatAStaticPodHolds(t *testing.T) {
	pods := textOf(t, corev1.PodList{Items: []corev1.Pod{staticPod("etcd-a", nameOf(0), "component", "etcd")}})
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 3, 10)
		b.answers[planePodsPath] = pods
		stand := make(chan struct{})
		b.before = func(r *http.Request) {
			if r.URL.Path == "/api/v1/nodes" {
				<-stand
			}
		}
		for _, i := range []int{2, 0, 1} { // the others come while 2 is counted, and are one batch
			b.ask(t.Context(), i)
			synctest.Wait()
		}
		close(stand)
		synctest.Wait()
		if got := b.told(); got[string(api.ControlPlaneNode)] != 1 || got["reserved"] != 2 || b.writes != 2 {
			t.Errorf("%v after %d writes", got, b.writes)
		}
		if d := cmp.Diff([]string{nameOf(1), nameOf(2)}, slices.Sorted(slices.Values(b.reserved()))); d != "" {
			t.Error(d)
		}
	})
	for name, ask := range map[string]fence.Action{"a slot": fence.Reserve, "a drain": fence.AskDrain} {
		for answer, want := range map[string]string{pods: string(api.ControlPlaneNode), "": "an error"} {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t, 1, 10)
				b.answers[planePodsPath] = answer
				got := "reserved"
				if r, err := b.gate.Act(t.Context(), &b.fences[0], ask, observed.Look{}); err != nil {
					got = "an error"
				} else if r.Verdict != nil {
					got = string(r.Verdict.Reason)
				}
				if got != want || b.writes > 0 {
					t.Errorf("%s: %s after %d writes, want %s", name, got, b.writes, want)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t, 1, 10)
		b.answers[planePodsPath] = pods
		b.answers["/api/v1/nodes/"+nameOf(0)] = textOf(t, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nameOf(0)}})
		device := api.Binding{Driver: "mem"}
		b.gate.Bind = func(context.Context, *corev1.Node) (*config.Bound, error) {
			return &config.Bound{Devices: api.Named(device), Over: func(*api.ResolvedPolicy) {}}, nil
		}
		f := waitingWith(t, b, device, api.ActionReboot)
		w := &silentGate{b: b}
		for range 2 { // the second look finds the fence held
			start := time.Now()
			l := &loop.Loop{Function: Name, Owns: Phases, Store: b.gate.Client, Does: w, Reporter: w, Now: time.Now, Conflict: kube.ErrConflict,
				Elapsed: func() time.Duration { return time.Since(start) }, Me: func() string { return "me" }}
			if _, err := l.GoOn(t.Context(), f.DeepCopy(), event.New(), 0); err != nil {
				t.Fatal(err)
			}
			st := b.saved.Status
			if st.Phase != api.Pending || st.Reason != api.ControlPlaneNode || st.DecidedAt != nil || st.NextLook == nil || time.Until(st.NextLook.Time) > facts.Resync {
				t.Errorf("%s %s: %s, next look %v", st.Phase, st.Reason, st.Message, st.NextLook)
			}
			*f = *b.saved
			time.Sleep(facts.Resync)
		}
		// The first look asks whether a slot is free before it resolves the devices.
		if d := cmp.Diff([]fence.Action{fence.Resolve, fence.Resolve, fence.Reserve}, w.acts); d != "" || b.writes > 0 {
			t.Errorf("%d writes of the ledger: %s", b.writes, d)
		}
	})
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
		planePodsPath: text(corev1.PodList{Items: pods}),
	})
	r, err := g.Act(t.Context(), &f, fence.Reserve, observed.Look{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict == nil {
		return ""
	}
	return r.Verdict.Message
}
