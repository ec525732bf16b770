package kube

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// LookDump sees what is heard of the machine's dump, where the fence asks for
// that. Where there is no such namespace, or no right to look into it, nobody
// listens, and nothing is heard. A right can also be refused for a while: a dump
// that the fence has on record is not ended by that (fence.Decide).
func (c *Client) LookDump(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	if fence.Kdump(f) == nil || f.Status.Power.SwitchedByUs {
		return nil
	}
	l, err := get[coordinationv1.Lease](ctx, c, dumpsPath+"/"+f.Spec.NodeName)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil || l == nil {
		return err
	}
	seen.Dump = dumpOf(l)
	return nil
}
