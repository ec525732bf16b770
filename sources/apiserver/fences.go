package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/tracing"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

func (s *Source) fence(f *api.NodeFence) {
	old, now := s.due.Fence(f.Name), s.now()
	s.due.Put(f, now)
	s.counting.Fence(f)
	slot := old != nil && old.HoldsSlot() && !f.HoldsSlot()               // it is free
	room := old != nil && admission.Emptied(old) && !admission.Emptied(f) // to drain is free, also where a slot was taken for it
	if slot || room || old != nil && !f.Open() {
		s.due.Freed(old, s.counting.Changed(), now)
	}
	if old != nil && roundUnderWay(old) && !roundUnderWay(f) {
		s.due.ChecksEnded(now)
	}
	if waitsForHealth(f) && (old == nil || old.UID != f.UID || old.Status.Transitions != f.Status.Transitions) {
		s.back(f.Name, now) // what came before this was known woke another phase, or nobody
	}
	s.left.closed(f)
	s.gauges.Fence(f)
	s.targets.changed(f.Name)
	s.asks.Fence(f, now)
}

// roundUnderWay tells whether checks are being made for a fence.
func roundUnderWay(f *api.NodeFence) bool {
	a, s := f.Status.ActivityChecks, f.Status.StorageCheck
	return a != nil && a.StartedAt != nil || s != nil && s.StartedAt != nil
}

// fenceOf is the node's open fence, or the one that would be opened next.
func (s *Source) fenceOf(node string) (f tracing.Fence, open bool) {
	if f := s.due.Fence(node); f != nil {
		return tracing.Of(f), true
	}
	return tracing.Fence{Node: node, Number: s.counting.Ended(node) + 1}, false
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
	s.gauges.FenceGone(node)
	s.targets.changed(node)
	s.asks.FenceGone(node, s.now())
}

func (s *Source) fenceHandler() cache.ResourceEventHandler {
	seen := func(obj any, first bool) {
		f := obj.(*api.NodeFence)
		s.fence(f)
		s.acts.Fence(f, first)
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj, false) },
		DeleteFunc: func(obj any) {
			s.fenceGone(nameOf(obj))
			if f, ok := obj.(*api.NodeFence); ok {
				s.acts.Gone(f.UID)
			}
		},
	}
}

// watchRequests begins a watch on the FenceRequests of each namespace that counts. Nothing waits for
// it, and a cluster without this kind is served all the same: the watch is tried again, and the
// function resync looks at FenceRequests too.
func (s *Source) watchRequests(ctx context.Context, scheme *runtime.Scheme) error {
	seen := func(obj any) { s.asks.Saw(obj.(*api.FenceRequest), s.now()) }
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				s.asks.Gone(key)
			}
		},
	}
	for _, namespace := range s.o.RequestNamespaces {
		_, err := s.watch(ctx, scheme, watched{
			api.GroupVersion, "/apis", fenceRequests, fenceRequests + "/" + namespace, namespace, fields.Everything(), &api.FenceRequest{}, slim.Request, handler,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
