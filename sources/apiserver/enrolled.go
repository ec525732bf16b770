package apiserver

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// enrolments is the resource name of ConfigMaps, which hold the enrolments.
const enrolments = "configmaps"

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

func (e *enrolment) has(node string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.known[node]
	return ok
}

// leftovers returns the enrolments whose mark is wrong, and those that have been marked for
// longer than keptFor.
func (e *enrolment) leftovers(here, wanted func(node string) bool, now time.Time) (all []leftover) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for node, x := range e.known {
		if x.object == "" || x.uid == "" {
			continue // not yet seen by the watch, or not written by nodefence
		}
		l := leftover{what: "enrolment", node: node, uid: x.object, version: x.version}
		at, err := time.Parse(time.RFC3339, x.gone)
		switch {
		case here(node) && x.gone == "":
			continue
		case here(node):
		case err != nil:
			l.mark = now.UTC().Format(time.RFC3339)
		case wanted(node) || now.Sub(at) <= keptFor:
			continue
		default:
			l.delete = true
		}
		all = append(all, l)
	}
	return all
}

// mark writes since when the node is gone, or that it is not gone.
func (e *enrolment) mark(ctx context.Context, name string, l leftover) error {
	cm, err := e.client.ConfigMap(ctx, e.namespace, name)
	if err != nil || cm == nil || cm.UID != l.uid || cm.ResourceVersion != l.version {
		return err
	}
	if delete(cm.Annotations, slim.GoneSince); l.mark != "" {
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations[slim.GoneSince] = l.mark
	}
	return e.client.SaveConfigMap(ctx, cm)
}
