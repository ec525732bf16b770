package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BoundPod is a pod, and the node that it is bound to.
type BoundPod struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

// Pod reads where a pod is bound; nil when there is none.
func (c *Client) Pod(ctx context.Context, namespace, name string) (*BoundPod, error) {
	return get[BoundPod](ctx, c, podPath(namespace, name))
}

// PodsOn reads the pods bound to a node.
func (c *Client) PodsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	l, err := list[corev1.PodList](ctx, c, "/api/v1/pods", "fieldSelector", "spec.nodeName="+node)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// EtcdPods reads the static pods that etcd's members run as, by kubeadm's label.
func (c *Client) EtcdPods(ctx context.Context) ([]corev1.Pod, error) {
	l, err := list[corev1.PodList](ctx, c, "/api/v1/namespaces/kube-system/pods", "labelSelector", "component=etcd")
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// ControlPlanePods reads the pods of kube-system with the label tier=control-plane, which kubeadm,
// RKE2 and Talos give to the static pods of the control plane. An empty node means the pods of all
// nodes.
func (c *Client) ControlPlanePods(ctx context.Context, node string) ([]corev1.Pod, error) {
	query := []string{"labelSelector", "tier=control-plane"}
	if node != "" {
		query = append(query, "fieldSelector", "spec.nodeName="+node)
	}
	l, err := list[corev1.PodList](ctx, c, "/api/v1/namespaces/kube-system/pods", query...)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// PodsLabelled reads the pods of a namespace with a label.
func (c *Client) PodsLabelled(ctx context.Context, namespace, label, value string) ([]corev1.Pod, error) {
	l, err := list[corev1.PodList](ctx, c, "/api/v1/namespaces/"+namespace+"/pods", "labelSelector", label+"="+value)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// PodTemplate reads one; nil when there is none.
func (c *Client) PodTemplate(ctx context.Context, namespace, name string) (*corev1.PodTemplate, error) {
	return get[corev1.PodTemplate](ctx, c, "/api/v1/namespaces/"+namespace+"/podtemplates/"+name)
}

// DeletePod deletes exactly this pod. Its kubelet ends it within the pod's own grace period, and
// the pod exists until then.
func (c *Client) DeletePod(ctx context.Context, namespace, name string, uid types.UID) error {
	return c.deleteObject(ctx, podPath(namespace, name), deletionOf(uid))
}

// ForceDeletePod deletes exactly this pod, at once. It leaves another pod of the same name alone
// (S6).
func (c *Client) ForceDeletePod(ctx context.Context, namespace, name string, uid types.UID) error {
	return c.deleteObject(ctx, podPath(namespace, name), forcedDeletionOf(uid))
}

// FailPod gives exactly this pod the phase Failed and the condition DisruptionTarget, and leaves another
// pod of the same name alone (S6). A pod that is gone is no error.
func (c *Client) FailPod(ctx context.Context, namespace, name string, uid types.UID, why string) error {
	err := c.patchOnly(ctx, strategicPatch, podPath(namespace, name)+"/status", map[string]any{
		"metadata": map[string]any{"uid": uid},
		"status": map[string]any{"phase": corev1.PodFailed, "conditions": []map[string]any{{
			"type": corev1.DisruptionTarget, "status": corev1.ConditionTrue, "reason": deletionByNodefence, "message": why,
			"lastTransitionTime": metav1.NewTime(c.clock.Now().UTC()),
		}}},
	})
	if isConflict(err) || apierrors.IsNotFound(err) || otherUID(err) {
		return nil
	}
	return err
}

// otherUID reports whether the API server refused a patch because the object of this name has another UID.
func otherUID(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsInvalid(err) && errors.As(err, &status) && status.Status().Details != nil &&
		slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// deletionByNodefence is the reason of the condition DisruptionTarget.
const deletionByNodefence = "DeletionByNodefence"

// EvictPod evicts exactly this pod, with its own grace period. held says in words why it may not go
// now: which disruption budget does not let it; empty if it goes, or is gone.
func (c *Client) EvictPod(ctx context.Context, namespace, name string, uid types.UID) (held string, err error) {
	return c.evict(ctx, namespace, name, deletionOf(uid))
}

// ForceEvictPod is ForceDeletePod if the pod's disruption budget lets it go, which the API server
// checks again. held is as in EvictPod: the next look sees the pod and its budget.
func (c *Client) ForceEvictPod(ctx context.Context, namespace, name string, uid types.UID) (held string, err error) {
	return c.evict(ctx, namespace, name, forcedDeletionOf(uid))
}

func (c *Client) evict(ctx context.Context, namespace, name string, o *metav1.DeleteOptions) (held string, err error) {
	// The client's own retries would wait out the answer "try again in 10 s".
	err = c.rest.Post().AbsPath(podPath(namespace, name) + "/eviction").MaxRetries(0).
		Body(&policyv1.Eviction{
			TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
			ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: name},
			DeleteOptions: o,
		}).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return "", nil
	}
	if apierrors.IsTooManyRequests(err) {
		return heldBy(err), nil
	}
	return "", err
}

// heldBy is what the API server says of the disruption budget that holds a pod.
func heldBy(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause && cause.Message != "" {
				return cause.Message
			}
		}
	}
	return cmp.Or(err.Error(), "the API server says to try again later")
}

func podPath(namespace, name string) string {
	return "/api/v1/namespaces/" + namespace + "/pods/" + name
}

// Job reads a Job; nil when there is none.
func (c *Client) Job(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return get[batchv1.Job](ctx, c, "/apis/batch/v1/namespaces/"+namespace+"/jobs/"+name)
}

// CreateJob creates one. ErrConflict: it already exists.
func (c *Client) CreateJob(ctx context.Context, j *batchv1.Job) error {
	j.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	_, err := create(ctx, c, "/apis/batch/v1/namespaces/"+j.Namespace+"/jobs", j)
	return err
}

// DeleteJob deletes a Job, and leaves its pods to the garbage collector.
func (c *Client) DeleteJob(ctx context.Context, namespace, name string, uid types.UID) error {
	o, background := deletionOf(uid), metav1.DeletePropagationBackground
	o.PropagationPolicy = &background
	return c.deleteObject(ctx, "/apis/batch/v1/namespaces/"+namespace+"/jobs/"+name, o)
}
