package readiness

import (
	"context"
	"errors"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/kube"
)

func (c *checking) save(ctx context.Context) error {
	fit(c.target)
	saved, err := c.Client.SaveTarget(ctx, c.target)
	if errors.Is(err, kube.ErrConflict) && c.holder != "" {
		saved, err = c.saveAgain(ctx, err)
	}
	if err != nil {
		return fmt.Errorf("save FenceTarget of %s: %w", c.node.Name, err)
	}
	c.target = saved
	return nil
}

// saveAgain is for a FenceTarget that somebody has written while its device was read, for
// example a request to read it. While we have the claim, the status is ours too, except for
// the source's fields.
func (c *checking) saveAgain(ctx context.Context, conflict error) (*api.FenceTarget, error) {
	t, err := c.Client.Target(ctx, c.node.Name)
	if err != nil || t == nil || t.UID != c.target.UID || t.Status.Claim == nil || t.Status.Claim.Holder != c.holder {
		return nil, errors.Join(conflict, err)
	}
	hostHA := t.Status.HostHA // the source writes this, at any time
	t.Status = c.target.Status
	t.Status.HostHA = hostHA
	return c.Client.SaveTarget(ctx, t)
}

// The longest texts that the schema accepts: a device's name for itself may have any
// length.
const (
	longestIdentity = 4096
	longestMessage  = 1024
)

func fit(t *api.FenceTarget) {
	for i := range t.Status.Devices {
		d := &t.Status.Devices[i]
		d.Identity, d.Message = clip.To(longestIdentity, d.Identity), clip.To(longestMessage, d.Message)
	}
}
