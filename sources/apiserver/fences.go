package apiserver

import (
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func (s *Source) fence(f *api.NodeFence) {
	old, now := s.due.Fence(f.Name), s.now()
	s.due.Put(f, now)
	s.counting.Fence(f)
	slot := old != nil && old.HoldsSlot() && !f.HoldsSlot()
	if slot {
		s.counting.Changed() // its slot is free
	}
	if slot || old != nil && !f.Open() {
		s.due.Freed(now)
	}
	if waitsForHealth(f) && (old == nil || old.UID != f.UID || old.Status.Transitions != f.Status.Transitions) {
		s.back(f.Name, now) // what came before this was known woke another phase, or nobody
	}
	s.left.closed(f)
	s.targets.changed(f.Name)
}

func (s *Source) fenceGone(node string) {
	// The record held the times until which reports were answered. If somebody deletes the
	// record, the same reports must not cause a second fence. So the reports are forgotten
	// first.
	s.problems.forget(node)
	s.due.Remove(node)
	s.counting.Forget(node)
	s.counting.Changed()
	s.left.gone(node)
	s.targets.changed(node)
}

func (s *Source) fenceHandler() cache.ResourceEventHandler {
	seen := func(obj any) { s.fence(obj.(*api.NodeFence)) }
	return cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) { s.fenceGone(nameOf(obj)) },
	}
}
