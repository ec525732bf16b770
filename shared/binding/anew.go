package binding

import (
	"context"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// anew resolves a node's devices by all ConfigMaps: those that this process has, if they count and
// nothing else does for this node, and else as they are now. kept is what a check may keep of it.
func (b Resolver) anew(ctx context.Context, now present) (r resolution, kept *api.TargetBinding, err error) {
	from, listed, err := b.list(ctx, now)
	if err != nil {
		return r, nil, err
	}
	r, err = b.resolve(ctx, from, now.node)
	if kept = b.keep(now.node, r, err); kept != nil || listed {
		return r, kept, err
	}
	// What it gives depends on more than the version of that list tells.
	if from, err = b.listed(ctx); err != nil {
		return r, nil, err
	}
	r, err = b.resolve(ctx, from, now.node)
	return r, b.keep(now.node, r, err), err
}
