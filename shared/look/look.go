package look

import (
	"context"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// Looker looks at what the next decision on a fence may use.
type Looker struct {
	Client *kube.Client
	// Self is the node that this runs on (S13); empty if unknown.
	Self string
	// Namespace is where machines are enrolled.
	Namespace string
}

// At sees what fence.Needs names, and nothing else. What was read before a time of the
// client's clock (kube.Clock.Elapsed) does not count, and nothing that was read before
// where power or access may be cut by it (S17). Where pods may be deleted, that the node is
// the one that was fenced is seen after they were: another of its name has other pods (S6).
func (l Looker) At(ctx context.Context, f *api.NodeFence, seen *fence.Seen, since time.Duration) (err error) {
	seen.Self = l.Self != "" && l.Self == f.Spec.NodeName
	need, from := fence.Needs(f), l.Client.Since(since)
	if need.Anew {
		from = l.Client.Anew()
	}
	if need.Left {
		if seen.Left, err = Left(ctx, l.Client, f); err != nil {
			return err
		}
		if len(seen.Left.Delete)+len(seen.Left.Detach) > 0 {
			from = l.Client.Anew()
		}
	}
	if err := Node(ctx, from, f, seen); err != nil {
		return err
	}
	if need.LeaseOf(seen.Node) {
		if err := Lease(ctx, from, f, seen); err != nil {
			return err
		}
	}
	return l.around(ctx, from, f, need, seen)
}

// around sees what is needed beside the node.
func (l Looker) around(ctx context.Context, from kube.Recent, f *api.NodeFence, need fence.Needed, seen *fence.Seen) error {
	if need.Excluded {
		if err := l.excluded(ctx, from, f, seen); err != nil {
			return err
		}
	}
	if need.Brakes {
		if err := Brakes(ctx, from, f, seen); err != nil {
			return err
		}
	}
	if need.Deletion {
		if err := Deletion(ctx, from, f, seen); err != nil {
			return err
		}
	}
	if need.RecountAfter(seen.Brakes) {
		if err := Recount(ctx, from, f, seen); err != nil {
			return err
		}
	}
	if need.Dump {
		return Dump(ctx, l.Client, f, seen)
	}
	return nil
}
