package look

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Dump reads what is known of the machine's crash dump. If the namespace is missing, or
// nodefence may not read it, nobody listens, and there is no dump. A right may also be
// refused for a while: that does not end a dump that the fence has on record
// (fence.Decide).
func Dump(ctx context.Context, c *kube.Client, f *api.NodeFence, seen *observed.Look) error {
	d, err := c.Dump(ctx, f.Spec.NodeName)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil || d == nil {
		return err
	}
	seen.Dump = &observed.Dump{NodeUID: d.NodeUID, BootID: d.BootID, First: d.First, Last: d.Last, Source: d.Source, Count: d.Count}
	return nil
}
