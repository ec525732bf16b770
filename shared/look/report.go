package look

import (
	"context"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Report reads the FenceReport that has the name of the fence's.
func Report(ctx context.Context, c *kube.Client, f *api.NodeFence, seen *observed.Look) error {
	r, err := c.FenceReport(ctx, f.Status.Report.Name)
	if err != nil || r == nil {
		return err
	}
	seen.Report = &observed.Report{Digest: r.Spec.Digest()}
	return nil
}
