package apiserver

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// watched describes one kind of objects, and what is done with each object.
type watched struct {
	gv       schema.GroupVersion
	path     string
	resource string
	// name tells two watches on one resource apart.
	name     string
	ns       string
	selector fields.Selector
	of       runtime.Object
	slim     cache.TransformFunc
	handler  cache.ResourceEventHandler
}

// watch begins one watch, which ends with ctx.
func (s *Source) watch(ctx context.Context, scheme *runtime.Scheme, w watched) (cache.InformerSynced, error) {
	c, err := restFor(s.o.Config, scheme, w.gv, w.path)
	if err != nil {
		return nil, err
	}
	lw := cache.NewListWatchFromClient(c, w.resource, w.ns, w.selector)
	inf := cache.NewSharedInformer(s.noticed(lw, w.name), w.of, 0)
	if err := inf.SetTransform(w.slim); err != nil {
		return nil, err
	}
	failed := func(ctx context.Context, _ *cache.Reflector, err error) { s.watchFailed(ctx, w.name, err) }
	if err := inf.SetWatchErrorHandlerWithContext(failed); err != nil {
		return nil, err
	}
	reg, err := inf.AddEventHandler(w.handler)
	if err != nil {
		return nil, err
	}
	s.standing.informs(w.name, reg.HasSynced)
	s.wg.Go(func() { inf.RunWithContext(ctx) })
	return reg.HasSynced, nil
}

func schemeOfAll() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

func restFor(cfg *rest.Config, scheme *runtime.Scheme, gv schema.GroupVersion, path string) (rest.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion, cfg.APIPath = &gv, path
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.UserAgent = "nodefence-source"
	// Protobuf takes a fraction of JSON's time. Custom resources come as JSON all the same.
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	cfg.Timeout = 0 // the timeout would end every watch
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return c, nil
}

// noticed reports when a ListWatch's watch begins, fails and ends.
func (s *Source) noticed(lw *cache.ListWatch, resource string) *cache.ListWatch {
	begin := lw.WatchFuncWithContext
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := begin(ctx, o)
		if err != nil {
			s.watchFailed(ctx, resource, err)
			return nil, err
		}
		s.watchBegan(resource)
		return noticed(w, func() { s.standing.heard(resource, s.now()) }, func() { s.watchEnded(resource) }), nil
	}
	return lw
}

func (s *Source) watchBegan(resource string) {
	s.standing.began(resource, s.now())
	if resource == kubeletLeases {
		s.leases.Resume(s.now())
	}
}

func (s *Source) watchEnded(resource string) {
	s.standing.ended(resource, s.now())
	if resource == kubeletLeases {
		s.leases.Pause(s.now())
	}
}

func (s *Source) watchFailed(ctx context.Context, resource string, err error) {
	s.standing.failed(ctx, resource, err, s.now())
}
