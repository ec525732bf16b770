package apiserver

import (
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func (s *Source) fence(f *api.NodeFence) {
	s.due.put(f, s.now())
	s.left.closed(f)
	s.targets.changed(f.Name)
}

func (s *Source) fenceGone(node string) {
	// With the record went until when reports were answered: a fence must not
	// be had a second time because somebody deleted it. So these go first.
	s.problems.forget(node)
	s.due.remove(node)
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
