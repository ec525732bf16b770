package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Look reads everything that is told about nodes and their fences.
func (c *Client) Look(ctx context.Context) (view.Seen, error) {
	var s view.Seen
	policies, err := all[api.FencePolicyList](ctx, c, "fencepolicies", "")
	if err != nil {
		return s, err
	}
	fences, err := all[api.NodeFenceList](ctx, c, "nodefences", "")
	if err != nil {
		return s, err
	}
	targets, err := all[api.FenceTargetList](ctx, c, "fencetargets", "")
	if err != nil {
		return s, err
	}
	nodes, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	s = view.Seen{Policies: policies.Items, Fences: fences.Items, Targets: targets.Items, Nodes: nodes.Items, Now: c.Now()}
	s.Ledger, err = c.LedgerIfAny(ctx)
	return s, err
}

// NodeEvents are the Events about a Node that say that its record can't be written.
func (c *Client) NodeEvents(ctx context.Context, node string) ([]corev1.Event, error) {
	only := fields.Set{"involvedObject.kind": "Node", "involvedObject.name": node, "reason": string(api.RecordNotSaved)}
	l, err := c.Kube.CoreV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{FieldSelector: only.String()})
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}

// Targets are all FenceTargets.
func (c *Client) Targets(ctx context.Context) ([]api.FenceTarget, error) {
	l, err := all[api.FenceTargetList](ctx, c, "fencetargets", "")
	return l.Items, err
}

// Fences are all NodeFences.
func (c *Client) Fences(ctx context.Context) ([]api.NodeFence, error) {
	l, err := all[api.NodeFenceList](ctx, c, "nodefences", "")
	return l.Items, err
}

// Policies are all FencePolicies.
func (c *Client) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	l, err := all[api.FencePolicyList](ctx, c, "fencepolicies", "")
	return l.Items, err
}

// Raw is the collection of one of nodefence's kinds as the API server sends it; of all namespaces.
func (c *Client) Raw(ctx context.Context, resource string) ([]byte, error) {
	return c.own.Get().Resource(resource).Do(ctx).Raw()
}

// NodeNames are the names of all nodes.
func (c *Client) NodeNames(ctx context.Context) ([]string, error) {
	l, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	return names(l, err)
}

// NodesLabelled are the names of the nodes that a selector chooses. It is an error if the selector chooses none.
func (c *Client) NodesLabelled(ctx context.Context, selector string) ([]string, error) {
	l, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err == nil && len(l.Items) == 0 {
		return nil, fmt.Errorf("no node has the labels %s", selector)
	}
	return names(l, err)
}

// NamespaceNames are the names of all namespaces.
func (c *Client) NamespaceNames(ctx context.Context) ([]string, error) {
	l, err := c.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	return names(l, err)
}

// names are those of the objects of a list, unless it could not be read.
func names(list runtime.Object, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	var all []string
	err = meta.EachListItem(list, func(o runtime.Object) error {
		is, err := meta.Accessor(o)
		if err == nil {
			all = append(all, is.GetName())
		}
		return err
	})
	return all, err
}
