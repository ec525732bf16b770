package mirror

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/sources/kubectl-fence/cluster"
)

// told is a list and watch that tells how each request went.
func (m *Mirror) told(f *followed, lw *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := lw.ListWithContext(ctx, o)
			if err != nil {
				m.went(ctx, f, err)
			} // what is listed and not watched is not seen as it is: the watch tells
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := lw.WatchWithContext(ctx, o)
			m.went(ctx, f, err)
			return w, err
		},
	}
}

// went keeps how a request for a kind went.
func (m *Mirror) went(ctx context.Context, f *followed, err error) {
	why := ""
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err):
		return // the informer lists anew, or asks without what this server does not know
	case err != nil:
		why = cluster.Explain(err).Error()
	}
	f.mu.Lock()
	same := why == f.why
	if f.why == "" && f.informer.HasSynced() {
		f.since = time.Now()
	}
	f.why, f.err = why, err
	f.mu.Unlock()
	if !same {
		m.changed()
	}
}

// trimmed is an object without what no page shows, so that thousands of nodes take little memory.
func trimmed(o any) (any, error) {
	if acc, err := meta.Accessor(o); err == nil {
		acc.SetManagedFields(nil)
	}
	if n, ok := o.(*corev1.Node); ok {
		n.Annotations = nil
		n.Status.Images, n.Status.VolumesInUse, n.Status.VolumesAttached = nil, nil, nil
	}
	if p, ok := o.(*corev1.Pod); ok {
		p.Annotations, p.Labels = nil, nil
		p.Spec = corev1.PodSpec{NodeName: p.Spec.NodeName}
		p.Status = corev1.PodStatus{Phase: p.Status.Phase, StartTime: p.Status.StartTime}
	}
	return o, nil
}
