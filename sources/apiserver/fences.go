package apiserver

import (
	"time"

	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// sendDue sends what is due and returns how long until the next is.
func (s *Source) sendDue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, w := range s.due.take(now) {
		s.sendFence(w.fence, w.at, now)
	}
	if next := s.due.next(); !next.IsZero() {
		return max(0, next.Sub(s.now()))
	}
	return s.o.Resync
}

// sendFence sends a fence's phase; it is stale once the fence has gone on.
func (s *Source) sendFence(f *api.NodeFence, due, now time.Time) {
	node, uid, number, seen := f.Spec.NodeName, f.UID, f.Status.FenceNumber, f.Status.Transitions
	s.outbox.put(letter{event: s.o.Source.Phase(f, due, now), about: "fence/" + string(uid), stale: func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		x := s.due.byNode[node]
		return x == nil || x.fence.UID != uid || x.fence.Status.FenceNumber != number || x.fence.Status.Transitions != seen
	}})
}

func (s *Source) fence(f *api.NodeFence) {
	s.mu.Lock()
	s.due.put(f, s.now())
	s.left.closed(f)
	s.hostHA.changed(f.Name)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Source) fenceHandler() cache.ResourceEventHandler {
	seen := func(obj any) { s.fence(obj.(*api.NodeFence)) }
	return cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			// With the record went until when reports were answered: a fence must not
			// be had a second time because somebody deleted it. So these go first.
			s.problems.forget(nameOf(obj))
			s.due.remove(nameOf(obj))
			s.left.gone(nameOf(obj))
			s.hostHA.changed(nameOf(obj))
		},
	}
}
