package checks

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
)

// Checker makes the checks of a fence: it connects to nodes, and has Jobs do so.
type Checker struct {
	Client *kube.Client
	// Self is the node that this process runs on; empty if unknown.
	Self string
	// Namespace is the namespace of the Jobs.
	Namespace string
	// Networks bound what a check connects to.
	Networks Networks
	// KubeletPort is where kubelets listen; 0 means what each Node reports.
	KubeletPort int32
	// NeighborsImage is the image of checks of type Neighbors, nodefence's own. Without one these checks go wrong.
	NeighborsImage string
	Log            *slog.Logger
}

// others is the number of healthy nodes that a check connects to beside the node in question.
const others = 3

// readTargets returns the node in question and a few healthy nodes, which are drawn anew each time.
func (c *Checker) readTargets(ctx context.Context, f *api.NodeFence) (node corev1.Node, healthy []corev1.Node, err error) {
	nodes, err := c.Client.Nodes(ctx)
	if err != nil {
		return node, nil, err
	}
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.Name == f.Spec.NodeName:
			node = *n
		case n.Name != c.Self && len(healthy) < others && look.NodeFrom(n, "").Ready():
			healthy = append(healthy, *n)
		}
	}
	return node, healthy, nil
}

// kubeletOf returns the host:port of a node's kubelet. The port is that of the settings, or that of the Node,
// or kubelets' default.
func (c *Checker) kubeletOf(n *corev1.Node) (string, error) {
	port := c.KubeletPort
	if port == 0 {
		port = n.Status.DaemonEndpoints.KubeletEndpoint.Port
	}
	if port == 0 {
		port = 10250
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			if why := c.Networks.refusal(a.Address); why != "" {
				return "", errors.New(why)
			}
			return net.JoinHostPort(a.Address, strconv.Itoa(int(port))), nil
		}
	}
	return "", errors.New("the Node has no InternalIP")
}
