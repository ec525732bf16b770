package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const actsPath = group + "/fenceacts"

// Acts reads all FenceActs.
func (c *Client) Acts(ctx context.Context) ([]api.FenceAct, error) {
	l, err := list[api.FenceActList](ctx, c, actsPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// CreateAct writes the record of a person's act. ErrConflict: it is there already.
func (c *Client) CreateAct(ctx context.Context, a *api.FenceAct) error {
	a.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "FenceAct"}
	_, err := create(ctx, c, actsPath, a)
	return err
}
