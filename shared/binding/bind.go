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
	bound, err := b.kept(ctx, n, t, mine)
	if bound == nil && err == nil {
		bound, err = b.bindAnew(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	tell(t, n, bound)
	return bound, nil
}

// kept returns the binding of a FenceTarget; nil if there is none, or if it may be another
// by now.
func (b Resolver) kept(ctx context.Context, n *corev1.Node, t *api.FenceTarget, mine *corev1.ConfigMap) (*config.Bound, error) {
	if t == nil || t.Status.Binding == nil {
		return nil, nil
	}
	led, err := b.Client.Since(0).Ledger(ctx) // read or written by this process less than a second ago
	if err != nil {
		return nil, err
	}
	k := t.Status.Binding
	now := present{node: n, configs: led.Status.Configs, resolver: b.name(), at: b.Client.Clock().Now()}
	if mine != nil {
		now.enrolment = &api.TargetSource{Name: mine.Name, UID: mine.UID, ResourceVersion: mine.ResourceVersion}
	}
	if !holds(k, now) {
		return nil, nil
	}
	if err := refusal(k); err != nil {
		return nil, err
	}
	return &config.Bound{Devices: k.DeepCopy().Devices, Over: clusterOf(k).Over}, nil
}

// bindAnew reads all ConfigMaps.
func (b Resolver) bindAnew(ctx context.Context, n *corev1.Node) (*config.Bound, error) {
	stored, err := b.Client.ConfigMaps(ctx, b.Namespace)
	if err != nil {
		return nil, err
	}
	r, err := b.resolve(ctx, stored, n)
	if err != nil {
		return nil, err
	}
	return &config.Bound{Devices: r.plan.Devices(), Over: r.cluster.Over}, nil
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
