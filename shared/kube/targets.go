package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const targetsPath = group + "/fencetargets"

// Target reads a node's FenceTarget; nil when there is none.
func (c *Client) Target(ctx context.Context, node string) (*api.FenceTarget, error) {
	return get[api.FenceTarget](ctx, c, targetsPath+"/"+node)
}

// SaveTarget writes the status of one by compare-and-swap; one that was never read is created
// first. A new one has no status until the first writer writes it. A claim is part of the status,
// so that it is neither doubled nor lost if this process ends between the two writes (S7).
// ErrConflict: somebody else wrote first.
func (c *Client) SaveTarget(ctx context.Context, t *api.FenceTarget) (*api.FenceTarget, error) {
	if t.ResourceVersion == "" {
		made, err := create(ctx, c, targetsPath, &api.FenceTarget{
			TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceTarget"},
			ObjectMeta: metav1.ObjectMeta{Name: t.Name},
		})
		if err != nil {
			return nil, err
		}
		t.ObjectMeta = made.ObjectMeta
	}
	return saveStatus[api.FenceTarget](ctx, c, targetsPath+"/"+t.Name, t.ObjectMeta, fieldsOf(t.Status))
}

// SaveHostHA writes a node's state in Host HA, and nothing else, into the status of its
// FenceTarget: so it need not take part in the checks' compare-and-swap. If the FenceTarget is
// gone, that is no error.
func (c *Client) SaveHostHA(ctx context.Context, node string, state api.HostHA) error {
	_, err := patch[api.FenceTarget](ctx, c, mergePatch, targetsPath+"/"+node+"/status", map[string]any{
		"status": map[string]any{"hostHA": state},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// DeleteTarget deletes the one with this UID. If it is gone, or is another one by now, that is no
// error.
func (c *Client) DeleteTarget(ctx context.Context, name string, uid types.UID) error {
	return c.deleteObject(ctx, targetsPath+"/"+name, deletionOf(uid))
}

// RequestCheck writes a person's request to read a node's devices now. It returns nil if there is
// no FenceTarget yet.
func (c *Client) RequestCheck(ctx context.Context, node, wish string) (*api.FenceTarget, error) {
	t, err := patch[api.FenceTarget](ctx, c, mergePatch, targetsPath+"/"+node, map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{api.CheckNowAnnotation: wish}},
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return t, err
}
