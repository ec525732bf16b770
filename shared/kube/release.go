package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/fence"
)

// ForceEvict is ForceDelete where the pod's disruption budget lets it go; the API
// server weighs that again. A refusal is no error: the next look sees the pod and
// its budget.
func (c *Client) ForceEvict(ctx context.Context, p fence.Pod) error {
	now := int64(0)
	// The client's own retries would wait out the answer "try again in 10 s".
	err := c.rest.Post().AbsPath("/api/v1/namespaces/" + p.Namespace + "/pods/" + p.Name + "/eviction").MaxRetries(0).
		Body(&policyv1.Eviction{
			TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
			ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
			DeleteOptions: deletion(p.UID, &now),
		}).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}

// Evict asks exactly this pod to leave, and to end in its own time. Held: its
// disruption budget does not let it go now.
func (c *Client) Evict(ctx context.Context, p *corev1.Pod) (held bool, err error) {
	err = c.rest.Post().AbsPath("/api/v1/namespaces/" + p.Namespace + "/pods/" + p.Name + "/eviction").MaxRetries(0).
		Body(&policyv1.Eviction{
			TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
			ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
			DeleteOptions: deletion(p.UID, nil),
		}).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if apierrors.IsTooManyRequests(err) {
		return true, nil
	}
	return false, err
}

// Delete deletes exactly this pod, which ends in its own time.
func (c *Client) Delete(ctx context.Context, p *corev1.Pod) error {
	err := c.rest.Delete().AbsPath("/api/v1/namespaces/" + p.Namespace + "/pods/" + p.Name).Body(deletion(p.UID, nil)).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Detach has exactly this volume detached by its driver: the object goes when the
// driver has done so.
func (c *Client) Detach(ctx context.Context, a fence.Attachment) error {
	err := c.rest.Delete().AbsPath("/apis/storage.k8s.io/v1/volumeattachments/" + a.Name).Body(deletion(a.UID, nil)).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// DeleteNode deletes exactly this Node object, as it was looked at: ErrConflict says
// that it has changed since, as one does whose machine is there again (S3, S6).
func (c *Client) DeleteNode(ctx context.Context, node string, uid types.UID, version string) error {
	defer func() {
		c.Forget(ctx)
		c.forget(nodesPath + "/" + node)
	}()
	return c.deleteAsSeen(ctx, nodesPath+"/"+node, uid, version)
}

// deletion is of the object with this UID and of no other (S6).
func deletion(uid types.UID, grace *int64) *metav1.DeleteOptions {
	return &metav1.DeleteOptions{
		TypeMeta:           metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &uid},
	}
}

// Volume reads a PersistentVolume; nil when there is none.
func (c *Client) Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	return get[corev1.PersistentVolume](ctx, c, "/api/v1/persistentvolumes/"+name)
}

// DisruptionBudgets reads all PodDisruptionBudgets.
func (c *Client) DisruptionBudgets(ctx context.Context) ([]policyv1.PodDisruptionBudget, error) {
	l, err := list[policyv1.PodDisruptionBudgetList](ctx, c, "/apis/policy/v1/poddisruptionbudgets")
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
