package plan

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/policystatus"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// unread is the gate's answer where it could not read all: it tries again.
const unread = "could not be read"

// TestOnePicture: the gate, by lists and by the census, kubectl fence plan and policystatus count
// one cluster in one way (S13, S14, S15). In each world the node a has failed, and a storm
// is on record whose cool-down is over: policystatus ends it where the gate would begin
// under the policy's limits.
func TestOnePicture(t *testing.T) {
	byCensus := 0
	for name, c := range map[string]struct {
		change func(*observedWorld)
		// gate and plan speak of the node a.
		gate, plan api.Reason
		// policy speaks of the limits of policy p alone: of no budget and of no etcd.
		policy api.Reason
		// storm is left by policystatus.
		storm bool
		// budget is how many more disruptions are allowed by the budget, which takes 5.
		budget int32
	}{
		"all are healthy": {change: func(w *observedWorld) { w.ready("a", corev1.ConditionTrue) }, budget: 5},
		"one has failed":  {change: func(*observedWorld) {}, budget: 4},
		"more are missing than may be": {func(w *observedWorld) { w.expects(0, 3) },
			api.TooManyUnhealthy, api.TooManyUnhealthy, api.TooManyUnhealthy, true, 1},
		"as many are missing as may be": {change: func(w *observedWorld) { w.expects(0, 2) }, budget: 2},
		"more are missing under another policy, and this one selects nodes without labels too": {func(w *observedWorld) { w.expects(w.another(), 3) },
			api.TooManyUnhealthy, api.TooManyUnhealthy, api.TooManyUnhealthy, true, 1},
		"more are missing under another policy, and this one does not select them": {change: func(w *observedWorld) {
			w.policies[0].Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": "p"}}
			w.expects(w.another(), 3)
		}, budget: 1},
		"more are missing than a status lists": {func(w *observedWorld) {
			w.policies[0].Spec.Limits.MaxUnhealthy = new(intstr.FromString("100%"))
			w.expects(0, 64)
		}, api.TooManyUnhealthy, api.TooManyUnhealthy, api.TooManyUnhealthy, true, 0},
		"etcd keeps its quorum": {change: func(w *observedWorld) { w.etcdOn("a", "n1", "n2") }, budget: 4},
		"etcd loses its quorum": {change: func(w *observedWorld) {
			w.etcdOn("a", "n1", "n2")
			w.ready("n1", corev1.ConditionFalse)
		}, gate: api.EtcdQuorum, plan: api.EtcdQuorum, budget: 3},
		"etcd is unread": {change: func(w *observedWorld) {
			w.etcdOn("a", "n1", "n2")
			w.pods = forbidden
		}, gate: unread, plan: api.EtcdQuorum, budget: 4},
		"etcd is unread, and another policy lists the node": {change: func(w *observedWorld) {
			w.etcdOn("a", "n1", "n2")
			w.pods = forbidden
			w.policies[w.another()].Spec.ControlPlane.EtcdNodeNames = []string{"a", "n1", "n2"}
		}, gate: unread, plan: api.EtcdQuorum, budget: 4},
		"a storm": {func(w *observedWorld) {
			for _, n := range []string{"n1", "n2", "n3"} {
				w.ready(n, corev1.ConditionUnknown)
			}
		}, api.TooManyUnhealthy, api.TooManyUnhealthy, api.TooManyUnhealthy, true, 1},
		"a storm that nobody has ended": {func(w *observedWorld) { w.ledger.Status.Storms[0].CoolDownUntil = nil },
			api.StormCoolDown, api.StormCoolDown, api.StormCoolDown, true, 4},
		"a storm that cools down": {func(w *observedWorld) { w.ledger.Status.Storms[0].CoolDownUntil = ago(-time.Hour) },
			api.StormCoolDown, api.StormCoolDown, api.StormCoolDown, true, 4},
		"a budget that is full": {change: func(w *observedWorld) {
			w.policies[0].Spec.Limits.MaxConcurrent = new(int32(9))
			w.policies[0].Spec.Limits.MaxUnhealthy = new(intstr.FromString("100%"))
			for i := range 5 {
				w.runs(fmt.Sprint("n", i+1))
			}
		}, gate: api.BudgetExhausted, plan: api.BudgetExhausted},
		"failed Machines without a Node": {func(w *observedWorld) {
			w.machines(0, 3)
			w.policies[0].Spec.Machines.WithoutNode = new(api.DeleteMachine)
		}, api.TooManyUnhealthy, api.TooManyUnhealthy, api.TooManyUnhealthy, true, 1},
		"failed Machines without a Node, which are only told": {change: func(w *observedWorld) { w.machines(0, 3) }, budget: 4},
		"the Machines are unread, and what was missing stays on record": {func(w *observedWorld) {
			q := w.another()
			w.machines(q, 0)
			w.machineList = forbidden
			for i := range 3 {
				w.policies[q].Status.Missing = append(w.policies[q].Status.Missing, api.MissingNode{NodeName: fmt.Sprint("m", i), Machine: &api.MachineRef{Name: "m"}, Since: *ago(time.Minute)})
			}
		}, api.TooManyUnhealthy, api.TooManyUnhealthy, api.TooManyUnhealthy, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := seen()
			c.change(w)
			before := w.ledger.DeepCopy()
			client := kubetest.Client(t, w)
			w.write(t, client)
			storm := len(w.ledger.Status.Storms) > 0
			w.ledger = *before.DeepCopy()
			p, b := &w.policies[0].Status, &w.budgets[0].Status
			allowed := meta.FindStatusCondition(p.Conditions, "FencingAllowed")
			byPolicy := api.Reason(allowed.Reason)
			if allowed.Status == metav1.ConditionTrue {
				byPolicy = ""
			}
			plan := w.planned(t)
			if got := w.admitted(t, client); got != c.gate || plan != c.plan || byPolicy != c.policy || storm != c.storm || b.DisruptionsAllowed != c.budget {
				t.Errorf("the gate says %q, want %q; the plan says %q, want %q; the policy says %q, want %q (%s); a storm is left: %v, want %v; the budget allows %d, want %d",
					got, c.gate, plan, c.plan, byPolicy, c.policy, allowed.Message, storm, c.storm, b.DisruptionsAllowed, c.budget)
			}
			w.ledger = *before.DeepCopy()
			w.counted()
			w.listed = false
			if got := w.admitted(t, kubetest.Client(t, w)); got != c.gate {
				t.Errorf("by the census the gate says %q, want %q", got, c.gate)
			}
			if !w.listed {
				byCensus++
			}
			if (p.FencesAllowed > 0) != (byPolicy == "") {
				t.Errorf("%d fences are allowed: %s", p.FencesAllowed, allowed.Message)
			}
		})
	}
	if byCensus < 18 {
		t.Errorf("in %d worlds the census decided: nothing was shown", byCensus)
	}
}

// TestAStaticPodIsPlanned: the gate and kubectl fence plan spare a node on which a static pod of etcd
// runs. A user who may not list these pods gets a note where they would decide (S13).
func TestAStaticPodIsPlanned(t *testing.T) {
	const notLooked = "the static pods of the control plane were not looked at: "
	static := func(w *observedWorld, node string) {
		w.pods = corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "etcd-" + node, Labels: map[string]string{"component": "etcd"}, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
		}, Spec: corev1.PodSpec{NodeName: node}}}}
	}
	for name, c := range map[string]struct {
		change     func(*observedWorld)
		gate, plan api.Reason
		words      string
	}{
		"it runs on the node": {func(w *observedWorld) { static(w, "a") }, api.ControlPlaneNode, api.ControlPlaneNode, "the node counts as one by static pod kube-system/etcd-a"},
		"it runs on another":  {func(w *observedWorld) { static(w, "n1") }, "", "", "would begin"},
		"the pods are unread": {func(w *observedWorld) { w.pods = forbidden }, unread, "", notLooked},
		"a label decides alone": {func(w *observedWorld) { w.pods = forbidden; w.node("a").Labels[api.ControlPlaneLabel] = "" },
			api.ControlPlaneNode, api.ControlPlaneNode, "the node counts as one by label " + api.ControlPlaneLabel},
	} {
		w := seen()
		c.change(w)
		if got := w.admitted(t, kubetest.Client(t, w)); got != c.gate {
			t.Errorf("%s: the gate says %q, want %q", name, got, c.gate)
		}
		if got := w.planned(t); got != c.plan {
			t.Errorf("%s: the plan says %q, want %q", name, got, c.plan)
		}
		_, out, _ := w.cluster().plan(t, "a")
		if !strings.Contains(out, c.words) || strings.Contains(out, notLooked) != (c.words == notLooked) {
			t.Errorf("%s: %s, want %s", name, out, c.words)
		}
	}
}

// write is a tick of policystatus.
func (w *observedWorld) write(t *testing.T, client *kube.Client) {
	t.Helper()
	k := &policystatus.Writer{Objects: client, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if err := k.Write(t.Context()); err != nil && w.machineList != forbidden && w.pods != forbidden {
		t.Fatal(err)
	}
}

// planned is why kubectl fence plan says that a fence of a would not begin.
func (w *observedWorld) planned(t *testing.T) api.Reason {
	t.Helper()
	_, out, problems := w.cluster().plan(t, "-o", "json", "a")
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, problems)
	}
	if r.Refused == "" && r.Now == "would begin" {
		return ""
	}
	why, _, _ := strings.Cut(strings.TrimPrefix(r.Refused+r.Now, "would be held: "), ":")
	return api.Reason(why)
}

// admitted is why the gate reserves no slot for a fence of a.
func (w *observedWorld) admitted(t *testing.T, client *kube.Client) api.Reason {
	t.Helper()
	a := &w.nodes[0]
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: a.Name, UID: "f"}, Spec: api.NodeFenceSpec{NodeName: a.Name}}
	f.Status.FenceNumber, f.Status.Phase = 1, api.Pending
	f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(w.policies, a.Name, a.Labels)
	g := gate.Gate{Client: client}
	r, err := g.Act(t.Context(), f, fence.Reserve, observed.Look{Node: look.NodeFrom(a, "gate")})
	if err != nil && w.pods == forbidden {
		return unread
	} else if err != nil {
		t.Fatal(err)
	}
	if r.Verdict == nil {
		return ""
	}
	return r.Verdict.Reason
}
