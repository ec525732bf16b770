package binding

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/config"
)

// Planner says how nodes would be fenced. It uses the same code that fences them. It reads
// the ConfigMaps once, and calls no device.
type Planner struct {
	resolver Resolver
	from     *snapshot
}

// Planner reads the ConfigMaps.
func (b Resolver) Planner(ctx context.Context) (*Planner, error) {
	from, err := b.listed(ctx)
	if err != nil {
		return nil, err
	}
	return &Planner{resolver: b, from: from}, nil
}

// Plan returns the binding that the gate would make for a node. A fault in the ConfigMaps
// is a config.Refused.
func (p *Planner) Plan(ctx context.Context, n *corev1.Node) (config.Plan, config.Cluster, error) {
	r, err := p.resolver.resolve(ctx, p.from, n)
	return r.plan, r.cluster, err
}

// MadeOfThese tells whether a FenceTarget's binding was made of the ConfigMaps that the planner has
// read.
func (p *Planner) MadeOfThese(k *api.TargetBinding) bool {
	return k.ConfigsVersion == p.from.version()
}

// Credentials reads the secrets of a binding and opens its driver, as power does before a
// call, and makes no call.
func (p *Planner) Credentials(ctx context.Context, b *api.Binding) error {
	_, err := p.resolver.Open(ctx, b)
	return err
}
