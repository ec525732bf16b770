package binding

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/job"
	"github.com/nodefence/nodefence/shared/device/set"
	"github.com/nodefence/nodefence/shared/devicecall"
	"github.com/nodefence/nodefence/shared/jobs"
)

// Open reads the credentials of a binding and opens its driver. The credentials are kept
// nowhere (S29: no secret is shown).
func (b Resolver) Open(ctx context.Context, bound *api.Binding) (device.Driver, error) {
	return b.open(ctx, bound, nil)
}

// OpenFor is Open for a call that power or isolate makes.
func (b Resolver) OpenFor(ctx context.Context, bound *api.Binding, c devicecall.Claim) (device.Driver, error) {
	return b.open(ctx, bound, &jobs.AgentRunner{Client: b.Client, Namespace: b.JobsNamespace, Claim: c})
}

func (b Resolver) open(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	if bound.Adopted != nil {
		return b.openAdopted(ctx, bound, r)
	}
	if bound.Driver == config.SetDriver {
		return b.openSet(ctx, bound, r)
	}
	kind, err := b.kind(bound, r)
	if err != nil {
		return nil, err
	}
	params, err := (&credentials{Resolver: b, kind: kind, read: map[string]*corev1.Secret{}}).params(ctx, bound)
	if err != nil {
		return nil, err
	}
	return kind.Open(params)
}

// openSet opens all devices of a set.
func (b Resolver) openSet(ctx context.Context, bound *api.Binding, r job.Runner) (device.Driver, error) {
	var members []set.Member
	for _, m := range bound.Members {
		member := m.Binding()
		member.EffectDelay = bound.EffectDelay
		d, err := b.open(ctx, member, r)
		if err != nil {
			return nil, fmt.Errorf("device %s %s of the set: %w", m.Driver, m.Address, err)
		}
		members = append(members, set.Member{Name: m.Driver + " " + m.Address, Identity: m.Identity, Driver: d})
	}
	return set.New(members...)
}
