package apiserver

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// nodeView is what is kept of a node.
type nodeView struct {
	uid        string
	created    time.Time
	conditions map[string]condition
	systemUUID string
	providerID string
	// role is worker or control-plane.
	role string
	// marks are the values of our isolation taint.
	marks []string
	// excluded says which label or taint of the node has it left alone; labels are for
	// the policies to choose it by.
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

func viewOf(n *corev1.Node) nodeView {
	v := nodeView{
		uid: string(n.UID), created: n.CreationTimestamp.Time, systemUUID: n.Status.NodeInfo.SystemUUID, providerID: n.Spec.ProviderID,
		conditions: map[string]condition{}, role: kube.WorkerRole, labels: n.Labels,
	}
	seen := kube.NodeSeen(n, "")
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
	return v
}

// node sends the transitions of one node, and wakes its fence when Ready changed.
func (s *Source) node(n *corev1.Node) {
	v := viewOf(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	var old *nodeView
	if was, ok := s.nodes[n.Name]; ok {
		old = &was
	}
	s.nodes[n.Name] = v
	now := s.now()
	x := s.due.byNode[n.Name]
	for _, c := range transitions(n.Name, old, v, x != nil) {
		s.outbox.put(letter{event: s.o.Source.Condition(c, time.Time{}, now)})
	}
	if x != nil && old != nil {
		if due, ok := wakes(*old, v, now); ok {
			s.sendFence(x.fence, due, now)
		} else if old.excluded != v.excluded || !maps.Equal(old.labels, v.labels) {
			s.sendFence(x.fence, now, now)
		}
	}
	if old != nil && !old.ready() && v.ready() {
		s.unhold() // it may have been one too many
	}
	if v.ready() {
		s.enrol.put(n.Name, v)
	}
	s.exclude(n.Name, v)
	if old == nil || old.excluded != v.excluded || old.role != v.role || !maps.Equal(old.labels, v.labels) {
		s.hostHA.changed(n.Name)
	}
}

func (s *Source) nodeGone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, name)
	s.problems.left(name)
	s.enrol.left(name)
	if x := s.due.byNode[name]; x != nil {
		now := s.now()
		s.sendFence(x.fence, now, now)
	}
}
