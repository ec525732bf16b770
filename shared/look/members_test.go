package look_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

const (
	nodesPath   = "/api/v1/nodes"
	fencesPath  = "/apis/nodefence.io/v1alpha1/nodefences"
	budgetsPath = "/apis/nodefence.io/v1alpha1/fencebudgets"
	etcdPath    = "/api/v1/namespaces/kube-system/pods?component=etcd"
)

// planes is a cluster whose nodes a, b and c are its control plane and run its etcd, and w and x
// its work. a has failed. Its ledger has a census of that.
type planes struct {
	policies []api.FencePolicy
	budgets  []api.FenceBudget
	nodes    map[string]*corev1.Node
	pods     map[string]*corev1.Pod
	fences   map[string]*api.NodeFence
	ledger   *api.FenceLedger
}

func newPlanes() *planes {
	c := &planes{nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, fences: map[string]*api.NodeFence{}}
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.FencePolicySpec{Selector: policy.EveryNode, Mode: api.ModeEnforce, Action: api.ActionReboot}}
	p.Spec.ControlPlane.Fence = new(api.WithQuorum)
	p.Spec.Limits.MaxUnhealthy = new(intstr.FromString("100%"))
	c.policies = []api.FencePolicy{p}
	for _, name := range []string{"a", "b", "c", "w", "x"} {
		c.node(name, corev1.ConditionTrue)
	}
	for _, name := range []string{"a", "b", "c"} {
		c.nodes[name].Labels = map[string]string{api.ControlPlaneLabel: ""}
		c.member(name, corev1.ConditionTrue)
	}
	c.node("a", corev1.ConditionUnknown)
	c.open("a")
	return c
}

// another is a policy that lists workers as nodes of etcd, and the census knows.
func (c *planes) another() {
	q := *c.policies[0].DeepCopy()
	q.Name, q.Spec.ControlPlane.EtcdNodeNames, q.Spec.Selector = "q", []string{"w", "x", "y"}, nil
	c.policies = append(c.policies, q)
	c.open("w")
	c.node("y", corev1.ConditionTrue)
	c.counted(time.Now())
}

// five are the members, and the census knows.
func (c *planes) five() {
	for _, name := range []string{"d", "e"} {
		c.node(name, corev1.ConditionTrue)
		c.nodes[name].Labels = map[string]string{api.ControlPlaneLabel: ""}
		c.member(name, corev1.ConditionTrue)
	}
	c.counted(time.Now())
}

func (c *planes) node(name string, ready corev1.ConditionStatus) {
	if c.nodes[name] == nil {
		c.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	}
	c.nodes[name].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
}

func (c *planes) member(node string, ready corev1.ConditionStatus) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-" + node}, Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Command: []string{"etcd", "--name=" + node}}}}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	c.pods[node] = p
}

// open is a fence that waits for its slot.
func (c *planes) open(node string) *api.NodeFence {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("f-" + node), ResourceVersion: "1"}, Spec: api.NodeFenceSpec{NodeName: node}}
	f.Status.FenceNumber, f.Status.Phase = 1, api.Pending
	f.Status.Decision.NodeUID = types.UID("uid-" + node)
	c.fences[node] = f
	return f
}

// counted has the ledger keep a census of what is there now.
func (c *planes) counted(now time.Time) {
	seen, since := observed.StampOf(now), observed.StampOf(now.Add(-time.Hour))
	c.ledger = &api.FenceLedger{ObjectMeta: metav1.ObjectMeta{Name: api.LedgerName}}
	c.ledger.Status.Leases = api.LeasePicture{Since: &since, ObservedAt: &seen, Total: 5}
	w := admission.Watched{Policies: c.policies, Leases: c.ledger.Status.Leases, Nodes: look.ClusterNodes(c.list(""))}
	for _, f := range c.fences {
		w.Fences = append(w.Fences, f)
	}
	c.ledger.Status.Census = admission.TakeCensus(w, now)
}

func (c *planes) list(label string) (all []corev1.Node) {
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if _, has := c.nodes[name].Labels[label]; has || label == "" {
			all = append(all, *c.nodes[name])
		}
	}
	return all
}

// served is the cluster as an API server has it.
func (c *planes) served() *served {
	s := &served{objects: map[string]string{}, refused: map[string]int32{}}
	put := func(path string, o any) {
		raw, _ := json.Marshal(o) // these kinds have a text of their own
		s.objects[path] = string(raw)
	}
	for _, label := range []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd", "node-role.kubernetes.io/controlplane"} {
		put(nodesPath+"?"+label, corev1.NodeList{Items: c.list(label)})
	}
	put(nodesPath, corev1.NodeList{Items: c.list("")})
	for name, n := range c.nodes {
		put(nodesPath+"/"+name, n)
	}
	var pods corev1.PodList
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		pods.Items = append(pods.Items, *c.pods[name])
	}
	put(etcdPath, pods)
	var fences api.NodeFenceList
	for name, f := range c.fences {
		fences.Items = append(fences.Items, *f)
		put(fencesPath+"/"+name, f)
	}
	put(fencesPath, fences)
	put(budgetsPath, api.FenceBudgetList{Items: c.budgets})
	put(policiesPath, api.FencePolicyList{Items: c.policies})
	for _, p := range c.policies {
		put(policiesPath+"/"+p.Name, p)
	}
	return s
}

// admitted is what Admit says of a fence of this node, and what is asked for to know that.
func (c *planes) admitted(t *testing.T, node string, refused ...string) (reason api.Reason, asked []string, err error) {
	t.Helper()
	s := c.served()
	for _, path := range refused {
		s.refused[path] = http.StatusForbidden
	}
	f := c.fences[node].DeepCopy()
	f.Status.Decision.ResolvedPolicy, _ = policy.ResolvePolicy(c.policies[:1], node, nil)
	client, led := s.client(t), c.ledger.DeepCopy()
	world, err := look.ReadWorld(t.Context(), client.NewReader(0), led)
	if err != nil {
		return "", s.asked, err
	}
	picture, err := world.Picture(t.Context(), f, look.NodeFrom(c.nodes[node], ""), nil)
	if err == nil {
		if v := admission.Admit(f, picture, led, time.Now()); v != nil {
			reason = v.Reason
		}
	}
	slices.Sort(s.asked)
	return reason, s.asked, err
}

// TestACensusIsNotTrustedWithAQuorum: whatever has become of etcd since the census was taken, it
// is decided as by lists that are read now, and nothing that grows with the cluster is listed
// (S13). A worker's fence asks only whether etcd runs on it.
func TestACensusIsNotTrustedWithAQuorum(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for name, c := range map[string]struct {
		since func(*planes)
		node  string
		want  api.Reason
		// lists: the census does not know enough.
		lists bool
	}{
		"nothing has changed":            {func(*planes) {}, "a", "", false},
		"a worker is none of its":        {func(c *planes) { c.open("w") }, "w", "", false},
		"a member's pod has failed":      {func(c *planes) { c.member("b", no) }, "a", api.EtcdQuorum, false},
		"its pod is gone":                {func(c *planes) { delete(c.pods, "b") }, "a", api.EtcdQuorum, false},
		"its Node is not Ready":          {func(c *planes) { c.node("b", corev1.ConditionUnknown) }, "a", api.EtcdQuorum, false},
		"its Node is gone":               {func(c *planes) { delete(c.nodes, "b") }, "a", api.EtcdQuorum, true},
		"a problem of it is reported":    {func(c *planes) { c.open("b") }, "a", api.EtcdQuorum, false},
		"its fence has begun":            {func(c *planes) { c.open("b").Status.Phase = api.Recovering }, "a", api.EtcdQuorum, true},
		"a member has joined, and fails": {func(c *planes) { c.member("w", no) }, "a", api.EtcdQuorum, false},
		"a member has joined, and is well, and another fails": {func(c *planes) {
			c.member("w", yes)
			c.member("b", no)
		}, "a", api.EtcdQuorum, false},
		"a member has joined, and is well": {func(c *planes) {
			c.member("w", yes)
			c.nodes["w"].Labels = map[string]string{"node-role.kubernetes.io/etcd": ""}
		}, "a", "", false},
		"a member has joined on a node whose kubelet may have written its only label": {func(c *planes) {
			c.member("w", yes)
			c.nodes["w"].Labels = map[string]string{"node.kubernetes.io/microk8s-controlplane": ""}
		}, "a", api.EtcdQuorum, false},
		"a member has joined on a node that the policy lists": {func(c *planes) {
			c.member("w", yes)
			c.policies[0].Spec.ControlPlane.EtcdNodeNames = []string{"a", "b", "c", "w"}
		}, "a", "", false},
		"a member has joined on a new node": {func(c *planes) {
			c.node("n", yes)
			c.member("n", no)
		}, "a", api.EtcdQuorum, false},
		"a worker is of the control plane": {func(c *planes) { c.nodes["w"].Labels = map[string]string{"node-role.kubernetes.io/etcd": ""} }, "a", api.EtcdQuorum, false},
		"etcd has begun to run on a worker": {func(c *planes) {
			c.open("w")
			c.member("w", yes)
		}, "w", api.EtcdQuorum, false},
		"another policy lists it":                             {func(c *planes) { c.another() }, "w", "", false},
		"another policy lists it, and one of that list fails": {func(c *planes) { c.another(); c.node("x", no) }, "w", api.EtcdQuorum, false},
		"a worker of the control plane is under a fence": {func(c *planes) {
			c.five()
			c.nodes["w"].Labels = map[string]string{api.ControlPlaneLabel: ""}
			c.open("w").Status.Phase = api.Recovering
		}, "a", api.EtcdQuorum, true},
		"one that recovers has lost its Node and its pod": {func(c *planes) {
			c.five()
			c.open("c").Status.Phase = api.Recovering
			delete(c.nodes, "c")
			delete(c.pods, "c")
		}, "a", api.EtcdQuorum, true},
		"one was of the control plane when its fence began": {func(c *planes) {
			c.open("w")
			c.counted(time.Now())
			c.fences["w"].Status.Phase = api.Recovering
			c.ledger.Status.UnderWay = []api.UnderWay{{NodeName: "w", FenceUID: "f-w", FenceNumber: 1, ControlPlane: true}}
		}, "a", api.EtcdQuorum, false},
		"more are named than are read": {func(c *planes) {
			var all []string
			for i := range 40 {
				all = append(all, fmt.Sprintf("m%d=https://192.0.2.9:2380", i))
			}
			c.pods["c"].Spec.Containers[0].Args = []string{"--initial-cluster=" + strings.Join(all, ",")}
		}, "a", api.EtcdQuorum, true},
		"another member is named": {func(c *planes) {
			c.pods["c"].Spec.Containers[0].Args = []string{"--initial-cluster=c=https://192.0.2.3:2380,../nodes=https://192.0.2.4:2380"}
		}, "a", api.EtcdQuorum, false},
		"the policy lists one": {func(c *planes) { c.policies[0].Spec.ControlPlane.EtcdNodeNames = []string{"a", "b", "c", "gone"} }, "a", api.EtcdQuorum, false},
		"a new policy lists a worker": {func(c *planes) {
			q := *c.policies[0].DeepCopy()
			q.Name, q.Spec.ControlPlane.EtcdNodeNames = "q", []string{"w", "x", "gone"}
			c.policies, q.Spec.Selector = append(c.policies, q), nil
			c.open("w")
			c.node("x", no)
		}, "w", api.EtcdQuorum, true},
	} {
		t.Run(name, func(t *testing.T) {
			is := newPlanes()
			is.counted(time.Now())
			c.since(is)
			got, asked, err := is.admitted(t, c.node)
			if err != nil || got != c.want {
				t.Errorf("%q, want %q, %v", got, c.want, err)
			}
			large := []string{nodesPath, fencesPath}
			listed := slices.ContainsFunc(asked, func(path string) bool { return slices.Contains(large, path) })
			if listed != c.lists {
				t.Errorf("listed %t, want %t: %v", listed, c.lists, asked)
			}
			is.ledger.Status.Census = nil
			if by, _, err := is.admitted(t, c.node); err != nil || by != c.want {
				t.Errorf("by lists %q, want %q, %v", by, c.want, err)
			}
		})
	}
}

// TestWhatAQuorumIsAskedOf: by a census a worker's fence asks for the policies, the budgets and etcd's
// pods, and that of a member for its nodes and their fences besides: as much in a cluster of any
// size. What can't be read means no (S13).
func TestWhatAQuorumIsAskedOf(t *testing.T) {
	c := newPlanes()
	c.open("w")
	c.counted(time.Now())
	worker := []string{etcdPath, budgetsPath, policiesPath}
	member := slices.Sorted(slices.Values(slices.Concat(worker, []string{
		fencesPath + "/b", fencesPath + "/c", nodesPath + "?" + api.ControlPlaneLabel,
		nodesPath + "?node-role.kubernetes.io/master", nodesPath + "?node-role.kubernetes.io/etcd", nodesPath + "?node-role.kubernetes.io/controlplane",
	})))
	for node, want := range map[string][]string{"w": worker, "a": member} {
		reason, asked, err := c.admitted(t, node)
		if d := cmp.Diff(want, asked); d != "" || reason != "" || err != nil {
			t.Errorf("%s: %q, %v\n%s", node, reason, err, d)
		}
		for _, path := range want {
			if _, _, err := c.admitted(t, node, path); err == nil {
				t.Errorf("%s begins though %s can't be read", node, path)
			}
		}
	}
}
