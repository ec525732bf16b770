package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// enrolments are in ConfigMaps, as the API server names them.
const enrolments = "configmaps"

// watchEnrolments follows the ConfigMaps in which machines are enrolled, so that one
// that somebody deletes is written again at once, and returns when they were listed.
func (s *Source) watchEnrolments(ctx context.Context, scheme *runtime.Scheme) error {
	seen := func(obj any) { s.enrol.saw(obj.(*corev1.ConfigMap)) }
	synced, err := s.watch(ctx, scheme, watched{
		corev1.SchemeGroupVersion, "/api", enrolments, enrolments, s.o.Namespace, fields.Everything(), &corev1.ConfigMap{}, slimEnrolment,
		cache.ResourceEventHandlerFuncs{
			AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
			DeleteFunc: func(obj any) { s.enrolmentGone(nameOf(obj)) },
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
