package binding

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/readiness"
)

// Devices are the devices to which the gate would bind a node now. The gate runs the same
// code.
func (b Resolver) Devices(ctx context.Context, n *corev1.Node) ([]api.Binding, error) {
	stored, err := b.Client.ConfigMaps(ctx, b.Namespace)
	if err != nil {
		return nil, err
	}
	plan, _, err := b.plan(ctx, stored, n)
	var refused *config.Refused
	switch {
	case errors.Is(err, config.ErrNoBinding):
		return nil, &readiness.Unfit{Reason: api.NoBinding, Err: err}
	case errors.As(err, &refused):
		return nil, &readiness.Unfit{Reason: api.BindingInvalid, Err: err}
	case err != nil:
		return nil, err
	}
	return plan.Devices(), nil
}

// Whose is the node that was enrolled as this machine, for a person who looks for the other
// end of a swapped cable.
func (b Resolver) Whose(ctx context.Context, identity string) (node, enrolled string, err error) {
	stored, err := b.Client.ConfigMaps(ctx, b.Namespace)
	if err != nil {
		return "", "", err
	}
	for i := range stored {
		if e, ok := enrolment(&stored[i]); ok && device.SameIdentity(e.Identity, identity) {
			return e.Name, e.Identity, nil
		}
	}
	return "", "", nil
}
