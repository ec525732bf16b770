package machine

import (
	"context"
	"fmt"

	"github.com/nodefence/nodefence/shared/device"
)

// machine is one instance with its Machine.
type machine struct {
	cluster device.Cluster
	// id is its provider ID.
	id string
	// cloud is the driver that reads the instance; instance is nil if there is none. known
	// is the instance's own identity, as far as the provider ID contains it.
	cloud, known string
	instance     device.Driver
}

// State reads the instance, and never the object: the object may be gone before, after or
// without the instance's end (S2).
func (m *machine) State(ctx context.Context) (device.Reading, error) {
	if m.instance == nil {
		return device.Reading{}, m.errorf(device.ErrUnsupported, "no driver of a cloud in this build reads it, so that nothing shows its end; a person can confirm it")
	}
	r, err := m.instance.State(ctx)
	if err != nil {
		return device.Reading{}, fmt.Errorf("read instance %s by %s: %w", m.id, m.cloud, err)
	}
	switch {
	case m.known == "":
		r.Identity = "" // the provider ID does not contain the identity
	case device.SameIdentity(r.Identity, m.known):
		r.Identity = m.id
	}
	return r, nil
}

// Off deletes the Machine. Its controller drains the node and ends the instance. A Machine
// that is being deleted is left to its controller.
func (m *machine) Off(ctx context.Context) error {
	o, err := m.find(ctx)
	switch {
	case err != nil:
		return err
	case o == nil:
		return m.gone(ctx)
	case o.Meta.Deleted != nil:
		return nil
	}
	if err := m.mayGo(o); err != nil {
		return err
	}
	if err := device.InTime(ctx); err != nil {
		return m.errorf(device.ErrUnreachable, "delete its Machine: "+err.Error())
	}
	if err := m.cluster.Delete(ctx, o.path, o.Meta.UID, o.Meta.Version); err != nil {
		return fmt.Errorf("delete Machine %s: %w", o.name(), err)
	}
	return nil
}

// gone: no Machine has the provider ID, so the instance must be off.
func (m *machine) gone(ctx context.Context) error {
	if m.instance != nil {
		if r, err := m.State(ctx); err == nil && r.Power == device.Off {
			return nil
		}
	}
	return m.errorf(device.ErrUnknown, "no Machine has it as its spec.providerID")
}

// On is always refused.
func (m *machine) On(context.Context) error { return m.errorf(device.ErrUnsupported, noOn) }
