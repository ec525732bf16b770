package binding

import (
	"context"
	"errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/readiness"
)

// Devices are the devices to which the gate would bind a node now, with what a fence may
// take instead of resolving them. The gate runs the same code.
func (b Resolver) Devices(ctx context.Context, a readiness.Asked) (readiness.Resolved, error) {
	now, err := b.present(ctx, a)
	if err != nil {
		return readiness.Resolved{}, err
	}
	if k := a.Target.Status.Binding; k != nil && holds(k, now) {
		b.Lists.forget(now.at)
		return readiness.Resolved{Devices: k.DeepCopy().Devices, Binding: k}, unfit(refusal(k))
	}
	r, kept, err := b.anew(ctx, now)
	out := readiness.Resolved{Binding: kept}
	if err == nil {
		out.Devices = r.plan.Devices()
	}
	return out, unfit(err)
}

// present is what a check resolves a node's devices by. The source has written the version of the
// node's enrolment into the turn, so that it need not be read.
func (b Resolver) present(ctx context.Context, a readiness.Asked) (present, error) {
	now := present{node: a.Node, configs: a.Ledger.Status.Configs, resolver: b.name(), at: b.Client.Clock().Now()}
	if v := a.Ledger.Status.Enrolment(a.Node.Name); v != "" {
		now.enrolment = &api.TargetSource{Name: kube.EnrolledName(a.Node.Name), ResourceVersion: v}
		return now, nil
	}
	cm, err := b.Client.Enrolment(ctx, b.Namespace, a.Node.Name)
	now.enrolment = sourceOf(cm)
	return now, err
}

// unfit is a refusal in a check's words.
func unfit(err error) error {
	var refused *config.Refused
	switch {
	case errors.Is(err, config.ErrNoBinding):
		return &readiness.Unfit{Reason: api.NoBinding, Err: err}
	case errors.As(err, &refused):
		return &readiness.Unfit{Reason: api.BindingInvalid, Err: err}
	}
	return err
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
