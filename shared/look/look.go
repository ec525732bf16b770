package look

import (
	"context"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// Looker reads what the next decision on a fence may use.
type Looker struct {
	Client *kube.Client
	// Self is the node that this process runs on (S13: never its own machine); empty if
	// unknown.
	Self string
	// Namespace has the enrolments.
	Namespace string
}

// At reads what fence.Needs names, and nothing else. A read from before a given time of the
// client's clock (kube.Clock.Elapsed) does not count. If power or access may be cut because
// of it, no earlier read counts at all (S17: the reason must still hold). If pods may be
// deleted, the node is read after them, to see that it is still the node that was fenced:
// another node of the same name has other pods (S6: what is deleted is what was fenced).
func (l Looker) At(ctx context.Context, f *api.NodeFence, seen *observed.Look, since time.Duration) (err error) {
	seen.Self = l.Self != "" && l.Self == f.Spec.NodeName
	need, from := fence.Needs(f, seen), l.Client.Since(since)
	acts := need.Anew
	if acts {
		from = l.Client.Anew()
	}
	if need.Left {
		if seen.Left, err = Left(ctx, l.Client, f); err != nil {
			return err
		}
		if len(seen.Left.Delete)+len(seen.Left.Detach) > 0 {
			from, acts = l.Client.Anew(), true
		}
	}
	if need.Draining {
		if seen.Draining, err = Draining(ctx, l.Client, f); err != nil {
			return err
		}
		if len(seen.Draining.Evict) > 0 {
			from, acts = l.Client.Anew(), true
		}
	}
	if err := readTogether(ctx, from, f, need, acts); err != nil {
		return err
	}
	if err := Node(ctx, from, f, seen); err != nil {
		return err
	}
	if need.LeaseOf(seen.Node) {
		if err := Lease(ctx, from, f, seen); err != nil {
			return err
		}
	}
	return l.readCluster(ctx, from, f, need, acts, seen)
}

// readTogether reads at once what a look needs and of which none needs another. The look takes it
// from there (kube.Recent).
func readTogether(ctx context.Context, from kube.Recent, f *api.NodeFence, need fence.Needed, acts bool) error {
	node := f.Spec.NodeName
	requests := []func() error{func() error { _, err := from.Node(ctx, node); return err }}
	if need.Lease {
		requests = append(requests, func() error { _, err := from.Lease(ctx, node); return err })
	}
	if need.Brakes {
		requests = append(requests, func() error { _, err := PoliciesFor(ctx, from, f, acts); return err })
	}
	return from.Together(requests...)
}

// readCluster reads what is needed besides the node.
func (l Looker) readCluster(ctx context.Context, from kube.Recent, f *api.NodeFence, need fence.Needed, acts bool, seen *observed.Look) error {
	if need.Excluded {
		if err := l.excluded(ctx, from, f, seen); err != nil {
			return err
		}
	}
	if need.Brakes {
		if err := Brakes(ctx, from, f, seen, acts); err != nil {
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
