package look

import (
	"context"
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Machines lists the objects that own a node's machine, of every provider that the cluster
// has.
type Machines interface {
	Machines(ctx context.Context) ([]policy.Machine, error)
}

// MachinesFor lists the Machines if any policy has a rule about them, and none otherwise:
// most clusters have no such kind.
func MachinesFor(ctx context.Context, c Machines, policies []api.FencePolicy) ([]policy.Machine, error) {
	if !slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return p.Spec.Machines != nil }) {
		return nil, nil
	}
	all, err := c.Machines(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the Machines: %w", err)
	}
	return all, nil
}
