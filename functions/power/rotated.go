package power

import (
	"context"
	"errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// noteCredentials looks whether what the account of a device is read from was written since the
// device refused it too often, and has the fence looked at at once if so. Only power and isolate
// may read Secrets, so this is not a part of the gate's look, where such a fence waits. The event
// is a hint (S18). If the process dies before the write, the next event finds the same.
func (p *Power) noteCredentials(ctx context.Context, node string) error {
	f, err := p.Client.Fence(ctx, node)
	if err != nil || f == nil || !f.Open() || fence.Foreign(f.Status) || p.Credentials == nil {
		return err
	}
	now, versions := p.Client.Clock().Now(), map[string]string{}
	for _, r := range f.Status.Power.Denied {
		b := boundAs(f, r.Device)
		if b == nil || r.Credentials == "" || !fence.Paused(r, now) {
			continue
		}
		if versions[r.Device], err = p.Credentials(ctx, b); err != nil {
			return err
		}
	}
	if !fence.NoteCredentials(f, versions, now) {
		return nil
	}
	_, err = p.Client.SaveFenceStatus(ctx, f)
	if errors.Is(err, kube.ErrConflict) {
		return nil // somebody is at work on the fence; the next event finds the same
	}
	return err
}

// boundAs is the device that the record binds by these words; nil if there is none.
func boundAs(f *api.NodeFence, words string) *api.Binding {
	all := f.Status.Decision.Devices
	for i := range all {
		if all[i].Words() == words {
			return &all[i]
		}
	}
	return nil
}
