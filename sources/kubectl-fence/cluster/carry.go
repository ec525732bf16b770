package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
)

// write carries out a change as it was built. A brake is not refused for the name beside it: where the API server takes
// no name, as with older CRDs, the brake is written without.
func (c *Client) write(ctx context.Context, ch act.Change, dry DryRun) error {
	err := c.writeOnce(ctx, ch, dry)
	if bare, named := ch.Unnamed(); named && (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)) {
		return c.writeOnce(ctx, bare, dry)
	}
	return err
}

// writeOnce writes a change.
func (c *Client) writeOnce(ctx context.Context, ch act.Change, dry DryRun) error {
	if ch.Namespace == "" {
		return c.Patch(ctx, ch.Resource, ch.Name, ch.Patch, dry)
	}
	body, err := json.Marshal(ch.Patch)
	if err != nil {
		return fmt.Errorf("encode the patch of %s %s: %w", ch.Resource, ch.Name, err)
	}
	ctx, end, err := lasting(ctx)
	if err != nil {
		return err
	}
	defer end()
	how := metav1.PatchOptions{FieldManager: FieldManager}
	if dry == DryRunServer {
		how.DryRun = []string{metav1.DryRunAll}
	}
	_, err = c.Kube.CoreV1().ConfigMaps(ch.Namespace).Patch(ctx, ch.Name, types.MergePatchType, body, how)
	return unsure(err, "whether "+ch.Resource+" "+ch.Name+" was changed")
}

// tries bounds how often a change is built anew because the object was written meanwhile.
const tries = 8

// Carry writes a change. nodefence writes its records all the time: where one was written since it
// was read, the change is built anew, and is written only if it is still about what was shown.
func (c *Client) Carry(ctx context.Context, ch act.Change, dry DryRun, anew func(context.Context) (act.Change, error)) error {
	err := c.write(ctx, ch, dry)
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
		err = c.write(ctx, now, dry)
	}
	return err
}
