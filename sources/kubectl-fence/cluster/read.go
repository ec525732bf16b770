package cluster

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	s.Acts = c.brakeActs(ctx)
	if s.Ledger, err = c.LedgerIfAny(ctx); err == nil {
		c.LookForSource(ctx, &s)
	}
	return s, err
}

const actsResource = "fenceacts"

// brakes selects the FenceActs of people who stopped, started, paused or resumed.
var brakes = fmt.Sprintf("%s in (%s,%s)", api.ActLabel, api.ActStop, api.ActPause)

// brakeActs are the acts of people on brakes. Where they can't be read, it is not known who changed a brake.
func (c *Client) brakeActs(ctx context.Context) []api.FenceAct {
	out := &api.FenceActList{}
	if err := c.own.Get().Resource(actsResource).Param("labelSelector", brakes).Do(ctx).Into(out); err != nil {
		return nil
	}
	return out.Items
}

// LookForSource reads the Lease of the source that leads, if the ledger does not show that a source looks. A user
// without the right to read it learns the rest.
func (c *Client) LookForSource(ctx context.Context, s *view.Seen) {
	if s.Namespace = c.Namespace; !s.Blind() {
		return
	}
	l, err := c.Kube.CoordinationV1().Leases(c.Namespace).Get(ctx, view.SourceLease, metav1.GetOptions{})
	switch {
	case err == nil:
		s.Source, s.SourceRead = l, true
	case Absent(err):
		s.SourceRead = true
	}
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

// reportsPage is how many FenceReports are read with one request.
const reportsPage = 500

// Reports reads the FenceReports of a node, or all if the name is empty, a page at a time. A cluster with older kinds has
// no FenceReports, or cannot select by node and sends all.
func (c *Client) Reports(ctx context.Context, node string) (reports []api.FenceReport, err error) {
	selector := ""
	if node != "" {
		selector = fields.OneTermEqualSelector("spec.nodeName", node).String()
	}
	for next := ""; ; {
		var l api.FenceReportList
		r := c.own.Get().Resource(reportsResource).Param("limit", strconv.Itoa(reportsPage)).Param("continue", next)
		if selector != "" {
			r = r.Param("fieldSelector", selector)
		}
		err := r.Do(ctx).Into(&l)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case selector != "" && apierrors.IsBadRequest(err):
			return c.Reports(ctx, "")
		case err != nil:
			return nil, err
		}
		reports = append(reports, l.Items...)
		if next = l.Continue; next == "" {
			return reports, nil
		}
	}
}

const reportsResource = "fencereports"

// Policies are all FencePolicies.
func (c *Client) Policies(ctx context.Context) ([]api.FencePolicy, error) {
	l, err := all[api.FencePolicyList](ctx, c, "fencepolicies", "")
	return l.Items, err
}

// Raw is the collection of one of nodefence's kinds as the API server sends it; of all namespaces. Of FenceReports,
// which may be thousands, it is the first page.
func (c *Client) Raw(ctx context.Context, resource string) ([]byte, error) {
	r := c.own.Get().Resource(resource)
	if resource == reportsResource {
		r = r.Param("limit", strconv.Itoa(reportsPage))
	}
	return r.Do(ctx).Raw()
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
