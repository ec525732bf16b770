package plan

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/look"
)

// observedWorld is a cluster that keeps what is written of policies, budgets and the ledger.
type observedWorld struct {
	nodes             []corev1.Node
	policies          []api.FencePolicy
	budgets           []api.FenceBudget
	fences            []api.NodeFence
	ledger            api.FenceLedger
	pods, machineList any
	// listed: somebody has listed the nodes.
	listed bool
}

// forbidden is a list that may not be read.
const forbidden = http.StatusForbidden

const (
	ownGroup     = "/apis/nodefence.io/v1alpha1/"
	machinesPath = "/apis/cluster.x-k8s.io/v1beta2/machines"
	etcdPath     = "/api/v1/namespaces/kube-system/pods"
)

func ago(d time.Duration) *api.Time {
	at := metav1.NewMicroTime(time.Now().Add(-d))
	return &at
}

// seen is ten nodes under policy p, of which three may be unhealthy and a is.
func seen() *observedWorld {
	w := &observedWorld{pods: json.RawMessage(`{"items":[]}`), machineList: json.RawMessage(`{"items":[]}`)}
	for i := range 10 {
		name := fmt.Sprint("n", i)
		if i == 0 {
			name = "a"
		}
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pool": "p"}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		w.nodes = append(w.nodes, n)
	}
	w.ready("a", corev1.ConditionUnknown)
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "1", Generation: 1}}
	p.Spec = api.FencePolicySpec{Selector: &api.LabelSelector{}, Mode: api.ModeEnforce, Action: api.ActionReboot,
		UnhealthyConditions: []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown", Duration: api.DurationOf(10 * time.Second)}}}
	p.Spec.Limits.MaxUnhealthy = new(intstr.FromInt32(3))
	b := api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "1"}}
	b.Spec = api.FenceBudgetSpec{Selector: &api.LabelSelector{}, MaxUnavailable: new(intstr.FromInt32(5))}
	w.policies, w.budgets = []api.FencePolicy{p}, []api.FenceBudget{b}
	w.ledger.ObjectMeta = metav1.ObjectMeta{Name: api.LedgerName, ResourceVersion: "1"}
	w.ledger.Status.Leases = api.LeasePicture{Since: ago(time.Hour), ObservedAt: ago(0), Total: 10}
	w.ledger.Status.Storms = []api.Storm{{Policy: "p", Since: *ago(2 * time.Hour), CoolDownUntil: ago(time.Hour)}}
	return w
}

func (w *observedWorld) node(name string) *corev1.Node {
	for i := range w.nodes {
		if w.nodes[i].Name == name {
			return &w.nodes[i]
		}
	}
	return nil
}

func (w *observedWorld) ready(node string, is corev1.ConditionStatus) {
	w.node(node).Status.Conditions[0].Status = is
}

// expects has a policy expect so many nodes that are not there.
func (w *observedWorld) expects(policy, missing int) {
	r := &api.MissingNodesRule{}
	for i := range missing {
		r.NodeNames = append(r.NodeNames, fmt.Sprint("m", i))
	}
	w.policies[policy].Spec.MissingNodes = r
}

// another is a policy that selects none of the nodes.
func (w *observedWorld) another() int {
	q := w.policies[0].DeepCopy()
	q.Name, q.Spec.Selector = "q", &api.LabelSelector{MatchLabels: map[string]string{"pool": "q"}}
	w.policies = append(w.policies, *q)
	return len(w.policies) - 1
}

// etcdOn makes these nodes the control plane, and p one that fences it by quorum.
func (w *observedWorld) etcdOn(nodes ...string) {
	var l corev1.PodList
	for _, name := range nodes {
		w.node(name).Labels = map[string]string{"pool": "p", api.ControlPlaneLabel: ""}
		yes := true
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "etcd-" + name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, Controller: &yes}},
			Annotations: map[string]string{"kubernetes.io/config.source": "file"}, Labels: map[string]string{"component": "etcd", "tier": "control-plane"}}}
		pod.Spec.NodeName, pod.Spec.Containers = name, []corev1.Container{{Command: []string{"etcd", "--name=" + name}}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		l.Items = append(l.Items, pod)
	}
	w.pods, w.policies[0].Spec.ControlPlane.Fence = l, new(api.WithQuorum)
}

// machines has a policy expect a node of each Machine; so many have failed and have none.
func (w *observedWorld) machines(policy, failed int) {
	var all []string
	for i := range failed {
		all = append(all, fmt.Sprintf(`{"metadata":{"namespace":"m","name":"x%d","uid":"x%d","creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Failed"}}`, i, i))
	}
	w.machineList = json.RawMessage(`{"items":[` + strings.Join(all, ",") + `]}`)
	w.policies[policy].Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{}}
}

// runs is a fence that has its slot.
func (w *observedWorld) runs(node string) {
	f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID("f-" + node), Finalizers: []string{api.Finalizer}}, Spec: api.NodeFenceSpec{NodeName: node}}
	f.Status.FenceNumber, f.Status.Phase, f.Status.DecidedAt = 1, api.Fencing, ago(0)
	w.fences = append(w.fences, f)
	w.ledger.Status.Reservations = append(w.ledger.Status.Reservations, api.Reservation{NodeName: node, FenceUID: f.UID, FenceNumber: 1, At: *f.Status.DecidedAt})
}

// counted has the ledger keep a census of all that is there, and what the slots count for.
func (w *observedWorld) counted() {
	c := admission.Watched{Nodes: look.ClusterNodes(w.nodes), Policies: w.policies, Budgets: w.budgets, Leases: w.ledger.Status.Leases}
	for i := range w.fences {
		f := &w.fences[i]
		f.ResourceVersion = "2"
		c.Fences = append(c.Fences, f)
		w.ledger.Status.UnderWay = append(w.ledger.Status.UnderWay, api.UnderWay{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: 1, Budgets: []string{"b"}})
	}
	for i := range w.ledger.Status.Reservations {
		r := &w.ledger.Status.Reservations[i]
		r.FenceVersion, r.CountedBy = "1", []api.CountedBy{{Policy: "p"}}
	}
	w.ledger.Status.Census = admission.TakeCensus(c, time.Now())
}

// cluster is the world as kubectl fence plan is served it.
func (w *observedWorld) cluster() cluster {
	c := running(own(bmc))
	for path, object := range map[string]any{
		ownGroup + "fencepolicies": api.FencePolicyList{Items: w.policies}, ownGroup + "fencebudgets": api.FenceBudgetList{Items: w.budgets},
		ownGroup + "nodefences": api.NodeFenceList{Items: w.fences}, ownGroup + "fenceledgers/" + api.LedgerName: w.ledger,
		"/api/v1/nodes": corev1.NodeList{Items: w.nodes},
	} {
		raw, err := json.Marshal(object)
		if err != nil {
			panic(err) // no world is without JSON
		}
		c[path] = json.RawMessage(raw)
	}
	c[etcdPath], c[machinesPath] = w.pods, w.machineList
	return c
}

// written keeps a status.
func (w *observedWorld) written(to http.ResponseWriter, r *http.Request) {
	var p api.FencePolicy
	var b api.FenceBudget
	var l api.FenceLedger
	into, keep := any(nil), func() {}
	switch strings.TrimPrefix(r.URL.Path, ownGroup) {
	case "fencepolicies/p/status":
		into, keep = &p, func() { w.policies[0].Status = p.Status }
	case "fencepolicies/q/status":
		into, keep = &p, func() { w.policies[1].Status = p.Status }
	case "fencebudgets/b/status":
		into, keep = &b, func() { w.budgets[0].Status = b.Status }
	case "fenceledgers/cluster/status":
		into, keep = &l, func() { w.ledger = l }
	}
	if into == nil || json.NewDecoder(r.Body).Decode(into) != nil {
		kubetest.Refuse(to, http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	keep()
	kubetest.Answer(to, into)
}

// ServeHTTP answers with the present objects.
func (w *observedWorld) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.written(to, r)
		return
	}
	label := r.URL.Query().Get("labelSelector")
	w.listed = w.listed || r.URL.Path == "/api/v1/nodes" && label == ""
	c := w.cluster()
	body, ok := c[r.URL.Path]
	if r.URL.Path == "/api/v1/nodes" && label != "" {
		body = corev1.NodeList{Items: slices.DeleteFunc(slices.Clone(w.nodes), func(n corev1.Node) bool { _, has := n.Labels[label]; return !has })}
	}
	if !ok {
		body, ok = c.item(r.URL.Path)
	}
	switch {
	case body == forbidden:
		kubetest.Refuse(to, http.StatusForbidden, metav1.StatusReasonForbidden)
	case ok:
		kubetest.Answer(to, body)
	default:
		kubetest.Refuse(to, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}
