package apiserver

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// The watched resources, as the API server names them.
const (
	nodes         = "nodes"
	kubeletLeases = "leases"
	fences        = "nodefences"
	// problems are Kubernetes Events about Nodes.
	problems = "events"
	// leaseNamespace is where kubelets keep their Leases.
	leaseNamespace = "kube-node-lease"
)

// watches starts a watch on each of Nodes, NodeFences and Leases, and returns when all
// three have been listed.
func (s *Source) watches(ctx context.Context) error {
	scheme, err := schemeOfAll()
	if err != nil {
		return err
	}
	// Before the Nodes: otherwise each node would be enrolled once more.
	if err := s.watchEnrolments(ctx, scheme); err != nil {
		return err
	}
	if err := s.watchTargets(ctx, scheme); err != nil {
		return err
	}
	if err := s.watchRequests(ctx, scheme); err != nil {
		return err
	}
	all := fields.Everything()
	var synced []cache.InformerSynced
	for _, w := range []watched{
		{corev1.SchemeGroupVersion, "/api", nodes, nodes, "", all, &corev1.Node{}, slim.Node, s.nodeHandler()},
		{coordinationv1.SchemeGroupVersion, "/apis", kubeletLeases, kubeletLeases, leaseNamespace, all, &coordinationv1.Lease{}, slim.Lease, s.leaseHandler()},
		{api.GroupVersion, "/apis", fences, fences, "", all, &api.NodeFence{}, slim.Fence, s.fenceHandler()},
	} {
		done, err := s.watch(ctx, scheme, w)
		if err != nil {
			return err
		}
		synced = append(synced, done)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	return nil
}

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

// nameOf also handles the tombstone of a missed deletion.
func nameOf(obj any) string {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return ""
	}
	_, name, _ := cache.SplitMetaNamespaceKey(key)
	return name
}
