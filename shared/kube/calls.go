package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodsLabelled reads the pods of a namespace with a label.
func (c *Client) PodsLabelled(ctx context.Context, namespace, label, value string) ([]corev1.Pod, error) {
	l, err := list[corev1.PodList](ctx, c, "/api/v1/namespaces/"+namespace+"/pods", "labelSelector", label+"="+value)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// DeletePod asks its kubelet to end a pod, within the pod's own grace period: the
// pod is there until the kubelet has.
func (c *Client) DeletePod(ctx context.Context, p *corev1.Pod) error {
	return c.discard(ctx, "/api/v1/namespaces/"+p.Namespace+"/pods/"+p.Name, deletion(p.UID, nil))
}

// DeleteJob deletes a Job, and leaves its pods to the garbage collector.
func (c *Client) DeleteJob(ctx context.Context, namespace, name string, uid types.UID) error {
	o, background := deletion(uid, nil), metav1.DeletePropagationBackground
	o.PropagationPolicy = &background
	return c.discard(ctx, "/apis/batch/v1/namespaces/"+namespace+"/jobs/"+name, o)
}

// CreateSecret creates one. ErrConflict: it is there already.
func (c *Client) CreateSecret(ctx context.Context, s *corev1.Secret) error {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	_, err := post(ctx, c, "/api/v1/namespaces/"+s.Namespace+"/secrets", s)
	return err
}

// DeleteSecret deletes one.
func (c *Client) DeleteSecret(ctx context.Context, namespace, name string) error {
	return c.discard(ctx, "/api/v1/namespaces/"+namespace+"/secrets/"+name, &metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
	})
}

// discard deletes what may be gone, or another one of its name, by now.
func (c *Client) discard(ctx context.Context, path string, o *metav1.DeleteOptions) error {
	err := c.rest.Delete().AbsPath(path).Body(o).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
