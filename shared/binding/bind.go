package binding

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
)

// Bind finds the devices that fence a node: the binding that a check has kept, if it still
// holds, else those of the ConfigMaps and the node's enrolment. A fault in them is a
// config.Refused; any other error is a failure to read them.
func (b Resolver) Bind(ctx context.Context, n *corev1.Node) (*config.Bound, error) {
	var t *api.FenceTarget
	var mine *corev1.ConfigMap
	err := b.Client.Together(
		func() (err error) { t, err = b.Client.Target(ctx, n.Name); return err },
		func() (err error) { mine, err = b.Client.Enrolment(ctx, b.Namespace, n.Name); return err },
	)
	if err != nil {
		return nil, err
	}
	now := present{node: n, enrolment: sourceOf(mine), resolver: b.name(), at: b.Client.Clock().Now()}
	if b.Lists != nil || t != nil && t.Status.Binding != nil {
		led, err := b.Client.NewReader(0).Ledger(ctx) // read or written by this process less than a second ago
		if err != nil {
			return nil, err
		}
		now.configs = led.Status.Configs
	}
	bound, err := kept(t, now)
	if bound == nil && err == nil {
		bound, err = b.bindAnew(ctx, now)
	}
	if err != nil {
		return nil, err
	}
	tell(t, n, bound)
	return bound, nil
}

// kept returns the binding of a FenceTarget; nil if there is none, or if it may be another
// by now.
func kept(t *api.FenceTarget, now present) (*config.Bound, error) {
	if t == nil || t.Status.Binding == nil || !holds(t.Status.Binding, now) {
		return nil, nil
	}
	k := t.Status.Binding
	if err := refusal(k); err != nil {
		return nil, err
	}
	return &config.Bound{Devices: k.DeepCopy().Devices, Over: clusterOf(k).Over}, nil
}

// bindAnew resolves them by all ConfigMaps.
func (b Resolver) bindAnew(ctx context.Context, now present) (*config.Bound, error) {
	r, _, err := b.anew(ctx, now)
	if err != nil {
		return nil, err
	}
	return &config.Bound{Devices: r.plan.Devices(), Over: func(p *api.ResolvedPolicy) { r.cluster.Over(p); r.adopted.over(p) }}, nil
}

// tell marks the devices that have told the machine's identity before, so that a fence
// accepts no answer without an identity from them (S11: the device is the node's own).
func tell(t *api.FenceTarget, n *corev1.Node, bound *config.Bound) {
	if t == nil || n.UID != "" && t.Status.NodeUID != n.UID {
		return
	}
	told := func(d *api.Binding) bool {
		return slices.ContainsFunc(t.Status.Devices, func(k api.TargetDevice) bool {
			return k.Tells && k.Driver == d.Driver && k.Address == d.Address && k.Role == d.Role && k.Enrolled == d.Identity
		})
	}
	for i := range bound.Devices {
		bound.Devices[i].Tells = told(&bound.Devices[i])
	}
}
