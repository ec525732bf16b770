package kube

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const budgetsPath = group + "/fencebudgets"

// FenceBudgets reads all FenceBudgets.
func (c *Client) FenceBudgets(ctx context.Context) ([]api.FenceBudget, error) {
	l, err := list[api.FenceBudgetList](ctx, c, budgetsPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// SaveBudgetStatus writes a budget's status by compare-and-swap.
func (c *Client) SaveBudgetStatus(ctx context.Context, b *api.FenceBudget) error {
	_, err := saveStatus[api.FenceBudget](ctx, c, budgetsPath+"/"+b.Name, b.ObjectMeta, fieldsOf(b.Status))
	return err
}

// DisruptionBudgets reads all PodDisruptionBudgets.
func (c *Client) DisruptionBudgets(ctx context.Context) ([]policyv1.PodDisruptionBudget, error) {
	l, err := list[policyv1.PodDisruptionBudgetList](ctx, c, "/apis/policy/v1/poddisruptionbudgets")
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
