package machine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const userAgent = "kubelet/" + kubeletVersion + " (linux/amd64) nodefence-lab"

// cluster is what all machines share: one connection, and one view.
// A machine that is cut off must not look at it, see kernel.online.
type cluster struct {
	client kubernetes.Interface
	now    atomic.Pointer[view]
}

// view is one watch per kind.
type view struct {
	shared  informers.SharedInformerFactory
	pods    cache.SharedIndexInformer
	nodes   corelisters.NodeLister
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	attach  storagelisters.VolumeAttachmentLister
	stop    context.CancelFunc
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	config.UserAgent = userAgent
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	// Real kubelets have a limit each; together they have none.
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	return client, nil
}

const podsByNode = "node"

// see returns what is known of the cluster now.
func (c *cluster) see() *view { return c.now.Load() }

// watch starts to watch, or starts again: the old view counts until everything is read. Then all
// subscribers are told of all objects.
func (c *cluster) watch(ctx context.Context, subscribe func(*view) error) error {
	v, err := newView(c.client)
	if err != nil {
		return err
	}
	ctx, v.stop = context.WithCancel(ctx)
	if err := v.start(ctx); err != nil {
		v.stop()
		return err
	}
	if old := c.now.Swap(v); old != nil {
		old.stop()
	}
	return subscribe(v)
}

func newView(client kubernetes.Interface) (*view, error) {
	shared := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	v := &view{
		shared:  shared,
		pods:    shared.Core().V1().Pods().Informer(),
		nodes:   shared.Core().V1().Nodes().Lister(),
		claims:  shared.Core().V1().PersistentVolumeClaims().Lister(),
		volumes: shared.Core().V1().PersistentVolumes().Lister(),
		attach:  shared.Storage().V1().VolumeAttachments().Lister(),
	}
	err := v.pods.AddIndexers(cache.Indexers{podsByNode: func(object any) ([]string, error) {
		return []string{object.(*corev1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index pods: %w", err)
	}
	return v, nil
}

// slim drops the fields that take most of the memory and are not used here.
func slim(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// start returns when all caches are filled.
func (v *view) start(ctx context.Context) error {
	v.shared.Start(ctx.Done())
	for kind, synced := range v.shared.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return errors.Join(fmt.Errorf("watch %s: not synced", kind), ctx.Err())
		}
	}
	return nil
}

// podsOn returns the pods bound to a node. They are shared: copy to change.
func (c *cluster) podsOn(node string) ([]*corev1.Pod, error) {
	objects, err := c.see().pods.GetIndexer().ByIndex(podsByNode, node)
	if err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		pods = append(pods, object.(*corev1.Pod))
	}
	return pods, nil
}

func (c *cluster) ready(node string) bool {
	n, err := c.see().nodes.Get(node)
	return err == nil && nodeReady(n)
}

// onChange calls wake with the name of each node that a change concerns.
func (v *view) onChange(wake func(node string)) error {
	handle := func(concerns func(old, new any) string) cache.ResourceEventHandler {
		call := func(old, new any) {
			if node := concerns(old, new); node != "" {
				wake(node)
			}
		}
		return cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { call(object, object) },
			UpdateFunc: call,
			DeleteFunc: func(object any) {
				if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = gone.Obj
				}
				call(object, object)
			},
		}
	}
	_, podErr := v.pods.AddEventHandler(handle(func(_, pod any) string { return pod.(*corev1.Pod).Spec.NodeName }))
	_, attachErr := v.shared.Storage().V1().VolumeAttachments().Informer().AddEventHandler(handle(func(_, attachment any) string {
		return attachment.(*storagev1.VolumeAttachment).Spec.NodeName
	}))
	_, nodeErr := v.shared.Core().V1().Nodes().Informer().AddEventHandler(handle(attachedChanged))
	if err := errors.Join(podErr, attachErr, nodeErr); err != nil {
		return fmt.Errorf("watch for changes: %w", err)
	}
	return nil
}

// attachedChanged leaves out what would wake each machine by its own heartbeats.
func attachedChanged(old, new any) string {
	a, b := old.(*corev1.Node), new.(*corev1.Node)
	if a == b || len(a.Status.VolumesAttached) == len(b.Status.VolumesAttached) {
		return ""
	}
	return b.Name
}
