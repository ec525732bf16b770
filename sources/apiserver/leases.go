package apiserver

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// lease notes a Lease as it is now. One that moves is news for a fence that waits for it.
func (s *Source) lease(l *coordinationv1.Lease) {
	now := s.now()
	if s.leases.Saw(l, now) {
		s.back(l.Name, now)
	}
}

func (s *Source) leaseHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			l := obj.(*coordinationv1.Lease)
			s.leases.TooSlow(nil, l)
			s.lease(l)
		},
		UpdateFunc: func(old, obj any) {
			l := obj.(*coordinationv1.Lease)
			s.leases.TooSlow(old.(*coordinationv1.Lease), l)
			s.lease(l)
		},
		DeleteFunc: func(obj any) { s.leases.Gone(nameOf(obj)) },
	}
}

// waitsForHealth: the fence goes on once its node is Ready and its Lease has moved: it recovers,
// and neither is counted yet; or its machine stays off, or it was given up.
func waitsForHealth(f *api.NodeFence) bool {
	switch f.CurrentPhase() {
	case api.Recovering:
		return f.Status.ReadySince == nil && f.Status.Outcome == ""
	case api.Fenced, api.Failed:
		return true
	}
	return false
}

// back wakes a fence that waits for the health of a node that is Ready. Three watches tell of
// the Node, its Lease and the fence, in any order between them: the Node's wakes it by itself
// (wakes), the other two by this. Else the one that comes last wakes a fence which is not known
// to wait yet, or nobody at all, and it is looked at when its time comes only.
func (s *Source) back(node string, now time.Time) {
	f := s.due.Fence(node)
	if f == nil || !waitsForHealth(f) {
		return
	}
	if v, ok := s.nodes.get(node); ok && v.ready() {
		s.due.Send(node, now, nil, now)
	}
}
