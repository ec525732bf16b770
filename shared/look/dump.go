package look

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// Dump sees what is heard of the machine's dump. Where there is no such namespace, or no
// right to look into it, nobody listens, and nothing is heard. A right can also be refused for a while: a dump
// that the fence has on record is not ended by that (fence.Decide).
func Dump(ctx context.Context, c *kube.Client, f *api.NodeFence, seen *fence.Seen) error {
	d, err := c.Dump(ctx, f.Spec.NodeName)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil || d == nil {
		return err
	}
	seen.Dump = &fence.Dump{NodeUID: d.NodeUID, BootID: d.BootID, First: d.First, Last: d.Last, Source: d.Source, Count: d.Count}
	return nil
}
