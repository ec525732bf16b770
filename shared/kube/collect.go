package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// DeleteConfigMap removes this very version of a ConfigMap; one that is gone is no
// error. ErrConflict: it was written since, and is left.
func (c *Client) DeleteConfigMap(ctx context.Context, namespace, name string, uid types.UID, version string) error {
	return c.deleteAsSeen(ctx, "/api/v1/namespaces/"+namespace+"/configmaps/"+name, uid, version)
}

// DeleteFence removes this very version of a NodeFence; one that is gone is no error.
// ErrConflict: it was written since, opened again for one, and is left.
func (c *Client) DeleteFence(ctx context.Context, name string, uid types.UID, version string) error {
	return c.deleteAsSeen(ctx, fencesPath+"/"+name, uid, version)
}

func (c *Client) deleteAsSeen(ctx context.Context, path string, uid types.UID, version string) error {
	how := deletion(uid, nil)
	how.Preconditions.ResourceVersion = &version
	err := c.rest.Delete().AbsPath(path).Body(how).Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("delete %s: it is not as it was looked at: %w", path, ErrConflict)
	}
	return err
}
