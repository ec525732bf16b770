package machine

import (
	"context"
	"errors"
	"fmt"

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

// cluster is what all machines share: one connection, and one watch per kind.
// A machine that is cut off must not look at it, see kernel.online.
type cluster struct {
	client  kubernetes.Interface
	shared  informers.SharedInformerFactory
	pods    cache.SharedIndexInformer
	nodes   corelisters.NodeLister
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	attach  storagelisters.VolumeAttachmentLister
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

func newCluster(client kubernetes.Interface) (*cluster, error) {
	shared := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	c := &cluster{
		client:  client,
		shared:  shared,
		pods:    shared.Core().V1().Pods().Informer(),
		nodes:   shared.Core().V1().Nodes().Lister(),
		claims:  shared.Core().V1().PersistentVolumeClaims().Lister(),
		volumes: shared.Core().V1().PersistentVolumes().Lister(),
		attach:  shared.Storage().V1().VolumeAttachments().Lister(),
	}
	err := c.pods.AddIndexers(cache.Indexers{podsByNode: func(object any) ([]string, error) {
		return []string{object.(*corev1.Pod).Spec.NodeName}, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index pods: %w", err)
	}
	return c, nil
}

// slim drops what takes most of the memory and is of no use here.
func slim(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// start returns when all caches are filled.
func (c *cluster) start(ctx context.Context) error {
	c.shared.Start(ctx.Done())
	for kind, synced := range c.shared.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return errors.Join(fmt.Errorf("watch %s: not synced", kind), ctx.Err())
		}
	}
	return nil
}

// podsOn returns the pods bound to a node. They are shared: copy to change.
func (c *cluster) podsOn(node string) ([]*corev1.Pod, error) {
	objects, err := c.pods.GetIndexer().ByIndex(podsByNode, node)
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
	n, err := c.nodes.Get(node)
	return err == nil && nodeReady(n)
}

// onChange has wake called with the name of each node that a change concerns.
func (c *cluster) onChange(wake func(node string)) error {
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
	_, podErr := c.pods.AddEventHandler(handle(func(_, pod any) string { return pod.(*corev1.Pod).Spec.NodeName }))
	_, attachErr := c.shared.Storage().V1().VolumeAttachments().Informer().AddEventHandler(handle(func(_, attachment any) string {
		return attachment.(*storagev1.VolumeAttachment).Spec.NodeName
	}))
	_, nodeErr := c.shared.Core().V1().Nodes().Informer().AddEventHandler(handle(attachedChanged))
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
