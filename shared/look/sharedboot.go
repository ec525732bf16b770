package look

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// SharedBoot reads whether another Node has the boot ID of the node, where that decides whether a power cut is refuted.
func SharedBoot(ctx context.Context, c *kube.Client, f *api.NodeFence, seen *observed.Look) error {
	if !fence.Doubts(f, seen.Node) {
		return nil
	}
	nodes, err := c.Nodes(ctx)
	seen.Node.BootIDShared = slices.ContainsFunc(nodes, func(n corev1.Node) bool {
		return n.Name != f.Spec.NodeName && kube.BootID(n.Status.NodeInfo.BootID) == seen.Node.BootID
	})
	return err
}
