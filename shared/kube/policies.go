package kube

import (
	"context"
	"maps"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const problemsPath = group + "/nodeproblempolicies"

// Policy reads a FencePolicy; nil when there is none.
func (c *Client) Policy(ctx context.Context, name string) (*api.FencePolicy, error) {
	return get[api.FencePolicy](ctx, c, policiesPath+"/"+name)
}

// Policies reads all FencePolicies.
func (c *Client) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	at := c.clock.elapsed()
	r, err := listRaw(ctx, c, runtime.ContentTypeJSON, policiesPath)
	if err != nil {
		return nil, err
	}
	l, err := decode[api.FencePolicyList](r, policiesPath)
	if err != nil {
		return nil, err
	}
	// This is the object as the API server sent it: if this program wrote the policy itself, it
	// would leave out what it does not understand.
	if raw, err := r.Raw(); err == nil {
		c.addToCache(policiesPath, raw, at)
	}
	return l.Items, nil
}

// objects are objects as the API server sent them.
type objects struct {
	Items []map[string]any `json:"items"`
}

// PoliciesLabelled reads the FencePolicies with a label, as the API server sent them, by name.
func (c *Client) PoliciesLabelled(ctx context.Context, label, value string) (map[string]map[string]any, error) {
	l, err := list[objects](ctx, c, policiesPath, "labelSelector", label+"="+value)
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]any, len(l.Items))
	for _, o := range l.Items {
		meta, _ := o["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		all[name] = o
	}
	return all, nil
}

// CreatePolicy creates a FencePolicy. ErrConflict: it already exists.
func (c *Client) CreatePolicy(ctx context.Context, object map[string]any) error {
	_, err := create(ctx, c, policiesPath, &object)
	return err
}

// SavePolicy writes a FencePolicy by compare-and-swap.
func (c *Client) SavePolicy(ctx context.Context, name string, object map[string]any) error {
	_, err := update(ctx, c, policiesPath+"/"+name, &object)
	return err
}

// DeletePolicy deletes exactly this version of a FencePolicy; if it is gone, that is no error.
// ErrConflict: it was written since, and stays.
func (c *Client) DeletePolicy(ctx context.Context, name string, uid types.UID, version string) error {
	return c.deleteAsSeen(ctx, policiesPath+"/"+name, uid, version)
}

// SavePolicyStatus writes a policy's status by compare-and-swap. A list on which decisions rest,
// and which this program does not fully understand, stays as it is.
func (c *Client) SavePolicyStatus(ctx context.Context, p *api.FencePolicy) error {
	fields := fieldsOf(p.Status)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return p.NotUnderstood.In("status." + name) })
	_, err := saveStatus[api.FencePolicy](ctx, c, policiesPath+"/"+p.Name, p.ObjectMeta, fields)
	return err
}

// NodeProblemPolicies reads all of them.
func (c *Client) NodeProblemPolicies(ctx context.Context) ([]api.NodeProblemPolicy, error) {
	l, err := list[api.NodeProblemPolicyList](ctx, c, problemsPath)
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

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
