package kube

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Job reads a Job; nil when there is none.
func (c *Client) Job(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return get[batchv1.Job](ctx, c, "/apis/batch/v1/namespaces/"+namespace+"/jobs/"+name)
}

// CreateJob creates one. ErrConflict: it is there already.
func (c *Client) CreateJob(ctx context.Context, j *batchv1.Job) error {
	j.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	_, err := post(ctx, c, "/apis/batch/v1/namespaces/"+j.Namespace+"/jobs", j)
	return err
}

// PodTemplate reads one; nil when there is none.
func (c *Client) PodTemplate(ctx context.Context, namespace, name string) (*corev1.PodTemplate, error) {
	return get[corev1.PodTemplate](ctx, c, "/api/v1/namespaces/"+namespace+"/podtemplates/"+name)
}

// Claim reads a PersistentVolumeClaim; nil when there is none.
func (c *Client) Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return get[corev1.PersistentVolumeClaim](ctx, c, "/api/v1/namespaces/"+namespace+"/persistentvolumeclaims/"+name)
}
