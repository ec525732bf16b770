package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
)

// tries bounds how often a change is built anew because the object was written meanwhile.
const tries = 8

// Carry writes a change. nodefence writes its records all the time: where one was written since it
// was read, the change is built anew, and is written only if it is still about what was shown.
func (c *Client) Carry(ctx context.Context, ch act.Change, dry DryRun, anew func(context.Context) (act.Change, error)) error {
	err := c.Patch(ctx, ch.Resource, ch.Name, ch.Patch, dry)
	for range tries {
		if !apierrors.IsConflict(err) {
			return err
		}
		now, failed := anew(ctx)
		if failed != nil {
			return failed
		}
		if !ch.Same(now) {
			return fmt.Errorf("nothing was done, because %s %s has changed since it was shown: look again, and repeat it", ch.Resource, ch.Name)
		}
		err = c.Patch(ctx, now.Resource, now.Name, now.Patch, dry)
	}
	return err
}
