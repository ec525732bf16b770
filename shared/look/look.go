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

// At reads what fence.Needs names, and nothing else. A read from before notBefore, by the client's clock
// (kube.Clock.Elapsed), does not count. If power or access may be cut because of the look, no earlier read
// counts at all (S17: the reason must still hold). If pods may be deleted, the node is read after them, to see
// that it is still the node that was fenced: another node of the same name has other pods (S6: what is deleted
// is what was fenced).
func (l Looker) At(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) (err error) {
	seen.Self = l.Self != "" && l.Self == f.Spec.NodeName
	need := fence.Needs(f, seen)
	acts := need.Anew
	if need.Left {
		if seen.Left, err = Left(ctx, l.Client, f); err != nil {
			return err
		}
		acts = acts || len(seen.Left.Delete)+len(seen.Left.Detach) > 0
	}
	if need.Draining {
		if seen.Draining, err = Draining(ctx, l.Client, f); err != nil {
			return err
		}
		acts = acts || len(seen.Draining.Evict) > 0
	}
	if acts {
		notBefore = l.Client.Clock().Elapsed()
	}
	reader := l.Client.NewReader(notBefore)
	if err := readTogether(ctx, reader, f, need, acts); err != nil {
		return err
	}
	if err := Node(ctx, reader, f, seen); err != nil {
		return err
	}
	if err := SharedBoot(ctx, l.Client, f, seen); err != nil {
		return err
	}
	if need.LeaseOf(seen.Node) {
		if err := Lease(ctx, reader, f, seen); err != nil {
			return err
		}
	}
	return l.readCluster(ctx, reader, f, need, acts, seen)
}

// readTogether reads at once what a look needs and of which none needs another. The look takes it
// from the reader's cache.
func readTogether(ctx context.Context, reader kube.Reader, f *api.NodeFence, need fence.Needed, acts bool) error {
	node := f.Spec.NodeName
	requests := []func() error{func() error { _, err := reader.Node(ctx, node); return err }}
	if need.Lease {
		requests = append(requests, func() error { _, err := reader.Lease(ctx, node); return err })
	}
	if need.Brakes {
		requests = append(requests, func() error { _, err := PoliciesFor(ctx, reader, f, acts); return err })
	}
	return reader.Together(requests...)
}

// readCluster reads what is needed besides the node.
func (l Looker) readCluster(ctx context.Context, reader kube.Reader, f *api.NodeFence, need fence.Needed, acts bool, seen *observed.Look) error {
	if need.Excluded {
		if err := l.excluded(ctx, reader, f, seen); err != nil {
			return err
		}
	}
	if need.Brakes {
		if err := Brakes(ctx, reader, f, seen, acts); err != nil {
			return err
		}
	}
	if need.Deletion {
		if err := Deletion(ctx, reader, f, seen); err != nil {
			return err
		}
	}
	if need.RecountAfter(seen.Brakes) {
		if err := Recount(ctx, reader, f, seen); err != nil {
			return err
		}
	}
	if need.Report {
		if err := Report(ctx, l.Client, f, seen); err != nil {
			return err
		}
	}
	if need.Dump {
		return Dump(ctx, l.Client, f, seen)
	}
	return nil
}
