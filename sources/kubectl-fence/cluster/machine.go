package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
)

// readWithin is longer than a turn for each of four devices that hang.
const readWithin = 2 * time.Minute

// ReadNow has a node's devices read, and returns the FenceTarget after that; nil if the node has
// none.
func (c *Client) ReadNow(ctx context.Context, node string) (*api.FenceTarget, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	wish := c.Now().UTC().Format(time.RFC3339Nano)
	asks := map[string]any{"metadata": map[string]any{"annotations": map[string]any{api.CheckNowAnnotation: wish}}}
	if err := c.Patch(ctx, "fencetargets", node, asks, DryRunNone); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	for {
		t, err := one[api.FenceTarget](ctx, c, "fencetargets", "", node)
		switch {
		case ctx.Err() != nil:
			return nil, errors.Join(fmt.Errorf("the devices of node %s were not all read within %s: kubectl fence plan --read %s says why", node, readWithin, node), ctx.Err())
		case err != nil:
			return nil, err
		case t.Heeded(wish):
			return t, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Machine reads what an enrolment by a person is judged by, except the FenceTarget. namespace is
// that of nodefence.
func (c *Client) Machine(ctx context.Context, namespace, node string) (act.Machine, error) {
	var m act.Machine
	nodes, err := c.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return m, err
	}
	m.Nodes = nodes.Items
	for i := range m.Nodes {
		if m.Nodes[i].Name == node {
			m.Node = &m.Nodes[i]
		}
	}
	if m.Node == nil {
		return m, nil
	}
	maps, err := c.Kube.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: kube.EnrolledLabel})
	if err != nil {
		return m, err
	}
	m.Enrolments = maps.Items
	if m.Lease, err = c.Kube.CoordinationV1().Leases("kube-node-lease").Get(ctx, node, metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return m, err
	} else if err != nil {
		m.Lease = nil
	}
	if m.Fence, err = c.Fence(ctx, node); Absent(err) {
		m.Fence, err = nil, nil
	}
	m.Now = c.Now()
	return m, err
}
