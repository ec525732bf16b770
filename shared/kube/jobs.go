package kube

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
