package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// watchEnrolments watches the ConfigMaps that hold enrolments, so that an enrolment which
// somebody deletes is written again at once, and all others for their version. It returns
// when they have been listed.
func (s *Source) watchEnrolments(ctx context.Context, scheme *runtime.Scheme) error {
	seen := func(obj any) {
		cm := obj.(*corev1.ConfigMap)
		s.enrol.saw(cm)
		s.configs.saw(cm)
	}
	synced, err := s.watch(ctx, scheme, watched{
		corev1.SchemeGroupVersion, "/api", enrolments, enrolments, s.o.Namespace, fields.Everything(), &corev1.ConfigMap{}, slim.Enrolment,
		cache.ResourceEventHandlerFuncs{
			AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
			DeleteFunc: func(obj any) {
				s.configs.gone(nameOf(obj))
				s.enrolmentGone(nameOf(obj))
			},
		},
	})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced) {
		return ctx.Err()
	}
	return nil
}

// enrolmentGone enrols a node again after somebody has deleted its enrolment.
func (s *Source) enrolmentGone(name string) {
	if node, was := s.enrol.gone(name); was {
		s.nodes.enrolAgain(node)
	}
}
