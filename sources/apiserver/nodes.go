package apiserver

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

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
	s.targets.noteVerdict(name, false)
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
