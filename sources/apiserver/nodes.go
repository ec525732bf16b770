package apiserver

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// nodeView is the part of a Node that is kept.
type nodeView struct {
	uid        string
	created    time.Time
	conditions map[string]condition
	systemUUID string
	providerID string
	// role is worker or control-plane.
	role string
	// marks are the fences whose isolation taint the node has or, if it is Ready, whose
	// out-of-service taint.
	marks []string
	// excluded says which label or taint of the node excludes it from fencing. labels are
	// matched by the selectors of policies.
	excluded string
	labels   map[string]string
}

type condition struct {
	status, reason string
	since          time.Time
}

func (v nodeView) ready() bool {
	return v.conditions[ready].status == string(corev1.ConditionTrue)
}

// counted is a node as the census counts it.
func (v nodeView) counted(name string) admission.Node {
	return admission.Node{Name: name, UID: types.UID(v.uid), Labels: v.labels, Unhealthy: !v.ready(), ControlPlane: v.role != kube.WorkerRole}
}

// countsAnew tells whether a node that is seen like this counts otherwise than before.
func (v nodeView) countsAnew(old *nodeView) bool {
	return old == nil || old.uid != v.uid || old.ready() != v.ready() || old.role != v.role || !maps.Equal(old.labels, v.labels)
}

func viewOf(n *corev1.Node) nodeView {
	v := nodeView{
		uid: string(n.UID), created: n.CreationTimestamp.Time, systemUUID: n.Status.NodeInfo.SystemUUID, providerID: n.Spec.ProviderID,
		conditions: map[string]condition{}, role: kube.WorkerRole, labels: n.Labels,
	}
	seen := look.NodeFrom(n, "")
	if v.excluded = seen.Excluded; seen.ControlPlane {
		v.role = "control-plane"
	}
	for _, c := range n.Status.Conditions {
		v.conditions[string(c.Type)] = condition{string(c.Status), c.Reason, c.LastTransitionTime.Time}
	}
	for _, t := range n.Spec.Taints {
		if t.Key == api.IsolationTaint {
			v.marks = append(v.marks, t.Value)
		}
	}
	// Function recover removes the out-of-service taint once the node is healthy, and not before.
	if by := n.Annotations[api.OutOfServiceBy]; by != "" && v.ready() && !slices.Contains(v.marks, by) {
		v.marks = append(v.marks, by)
	}
	return v
}

// nodeStore has what is known of the Nodes, and which nodes policies exclude. It calls the
// enrolment while it holds its lock. Lock order: nodeStore, then enrolment. The enrolment
// must hear the changes of a node in the order in which they came.
type nodeStore struct {
	enrol *enrolment

	mu    sync.Mutex
	known map[string]nodeView
	// machines are the nodes by the system UUID that they report (device.MachineKey).
	machines map[string]map[string]bool
	// excluded has the selectors by which each policy excludes nodes; excluding says that
	// the policies are known.
	excluded  map[string]*api.LabelSelector
	excluding bool
}

func newNodeStore(e *enrolment) *nodeStore {
	n := &nodeStore{enrol: e}
	n.begin()
	return n
}

// begin resets the store before each lead.
func (n *nodeStore) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known, n.excluded, n.excluding = map[string]nodeView{}, map[string]*api.LabelSelector{}, false
	n.machines = map[string]map[string]bool{}
}

// saw notes a node as it is now, and returns how it was; nil if it was not known.
func (n *nodeStore) saw(name string, v nodeView) (old *nodeView) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if was, ok := n.known[name]; ok {
		old = &was
	}
	n.known[name] = v
	n.moveLocked(name, reported(old), v.systemUUID)
	if v.ready() {
		n.enrol.put(name, v)
	}
	n.excludeLocked(name, v)
	return old
}

func (n *nodeStore) gone(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.moveLocked(name, n.known[name].systemUUID, "")
	delete(n.known, name)
	n.enrol.left(name)
}

// reported is the system UUID that the node reported when it was last seen.
func reported(old *nodeView) string {
	if old == nil {
		return ""
	}
	return old.systemUUID
}

// enrolAgain enrols a node whose enrolment somebody deleted.
func (n *nodeStore) enrolAgain(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.known[name]; ok && v.ready() {
		n.enrol.put(name, v)
		n.excludeLocked(name, v)
	}
}

func (n *nodeStore) get(name string) (nodeView, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.known[name]
	return v, ok
}

// labels are those of a node; nil if it is not known. They are not changed.
func (n *nodeStore) labels(name string) map[string]string {
	v, _ := n.get(name)
	return v.labels
}

func (n *nodeStore) all() map[string]nodeView {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.known)
}

// counted are all nodes as a census counts them.
func (n *nodeStore) counted() []admission.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]admission.Node, 0, len(n.known))
	for name, v := range n.known {
		all = append(all, v.counted(name))
	}
	return all
}

// uids returns the UIDs of the nodes that exist, by name.
func (n *nodeStore) uids() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[string]string, len(n.known))
	for name, v := range n.known {
		all[name] = v.uid
	}
	return all
}

// node sends the transitions of one node, and wakes its fence when Ready changed.
func (s *Source) node(n *corev1.Node) {
	v := viewOf(n)
	old := s.nodes.saw(n.Name, v)
	now := s.now()
	var counted <-chan struct{}
	if v.countsAnew(old) {
		counted = s.counting.Changed()
	}
	for _, c := range transitions(n.Name, old, v, s.due.HasOpen(n.Name)) {
		s.outbox.Put(outbox.Letter{Event: s.o.Source.Condition(c, time.Time{}, now), Counted: counted})
	}
	seen := old == nil || old.excluded != v.excluded || !maps.Equal(old.labels, v.labels)
	if old != nil {
		failed := counted // or the gate would find that the census is behind, and list the cluster
		if v.ready() {
			failed = nil
		}
		if due, ok := wakes(*old, v, now); ok {
			s.due.Send(n.Name, due, failed, now)
		} else if seen {
			s.due.Send(n.Name, now, failed, now)
		}
		if !old.ready() && v.ready() {
			s.due.Calmer(counted, now) // this node may have been the one too many for a limit
		}
	}
	if seen || old.role != v.role {
		s.targets.changed(n.Name)
	}
}

func (s *Source) nodeGone(name string) {
	s.nodes.gone(name)
	s.counting.Changed()
	s.problems.left(name)
	s.targets.judged(name, false)
	now := s.now()
	s.due.Send(name, now, nil, now)
}

func (s *Source) nodeHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.node(obj.(*corev1.Node)) },
		UpdateFunc: func(_, obj any) { s.node(obj.(*corev1.Node)) },
		DeleteFunc: func(obj any) { s.nodeGone(nameOf(obj)) },
	}
}
