package apiserver

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/kube"
)

func (s *Source) leaseHandler() cache.ResourceEventHandler {
	seen := func(obj any) {
		l := obj.(*coordinationv1.Lease)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.picture.observe(l.Name, kube.LeaseMark(l), kube.LeaseRenewal(l), s.now())
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { s.tooSlow(nil, obj.(*coordinationv1.Lease)); seen(obj) },
		UpdateFunc: func(old, obj any) {
			s.tooSlow(old.(*coordinationv1.Lease), obj.(*coordinationv1.Lease))
			seen(obj)
		},
		DeleteFunc: func(obj any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.picture.forget(nameOf(obj))
		},
	}
}

// tooSlow tells of a Lease that is not believed how seldom it is renewed, once for
// each thing that it says.
func (s *Source) tooSlow(old, l *coordinationv1.Lease) {
	said, is := kube.LeaseTooSlow(l)
	if !is {
		return
	}
	if old != nil {
		if before, _ := kube.LeaseTooSlow(old); before == said {
			return
		}
	}
	s.o.Logger.Warn("a Lease says that it is renewed less often than is believed: its node counts as unhealthy if that is so (leaseDurationSeconds)",
		"node", l.Name, "says", said.String(), "counted", kube.SlowestRenewal.String())
}
