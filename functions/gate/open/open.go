package open

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/gate/requests"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/run"
)

// Open decides whether a fence of a node opens because of an event, and who goes on with the fence. A gate that
// loses the race to open a fence stops, unless an event asked for the fence.
func (o *Opener) Open(ctx context.Context, node string, e event.Event) (r Result, err error) {
	reader := o.Client.NewReader(o.Client.Clock().Elapsed())
	f, err := o.readAhead(ctx, reader, node, e)
	if err != nil {
		return r, err
	}
	switch ours := f == nil || f.DeletionTimestamp == nil && !fence.Foreign(f.Status); {
	case ours && events.Asks(e.Type()):
		a, err := o.Judge.Request(ctx, node, e, f)
		return o.openAsked(ctx, node, a, err, f)
	case ours && e.Type() == events.NodeProblem:
		a, err := o.Judge.Problem(ctx, node, e, f)
		return o.openAsked(ctx, node, a, err, f)
	case !ours || f != nil && f.Open():
		return o.continueExisting(ctx, node, e, f)
	}
	n, err := reader.Node(ctx, node)
	if err != nil {
		return r, err
	}
	if n != nil {
		return o.openUnhealthy(ctx, reader, n, e, f)
	}
	r, err = o.openMissing(ctx, node, e, f)
	if errors.Is(err, kube.ErrConflict) {
		return Result{}, nil // another gate has just opened it
	}
	return r, err
}

// continueExisting says who goes on with a record that is open or being deleted. The record of a newer
// nodefence is left alone (S21).
func (o *Opener) continueExisting(ctx context.Context, node string, e event.Event, f *api.NodeFence) (r Result, err error) {
	if err := o.Judge.WhileDeleted(ctx, node, e, f); err != nil || o.isElsewhere(f, e) {
		return r, err
	}
	if fence.Foreign(f.Status) {
		return Result{Next: ReadRecord}, nil
	}
	return Result{Next: GoOn, Fence: f}, nil
}

// readAhead reads the node's record. If the event says that the node is not Ready, a fence is likely to open,
// and what its first look needs is read at the same time.
func (o *Opener) readAhead(ctx context.Context, reader kube.Reader, node string, e event.Event) (f *api.NodeFence, err error) {
	reads := []func() error{func() (err error) { f, err = o.Client.Fence(ctx, node); return err }}
	if e.Type() == events.NodeUnhealthy && e.Extensions()[events.ConditionAttr] == string(corev1.NodeReady) {
		reads = append(reads,
			func() error { _, err := reader.Node(ctx, node); return err },
			func() error { _, err := reader.Lease(ctx, node); return err },
			func() error { _, err := look.PoliciesShowing(ctx, reader, anyPolicies); return err },
		)
	}
	err = o.Client.Together(reads...)
	return f, err
}

// openAsked opens the fence that the judge's answer asks for. If the node had no record, the FenceRequest is read
// again after the record was created, and a FenceRequest that was withdrawn meanwhile opens no fence (S17).
func (o *Opener) openAsked(ctx context.Context, node string, a requests.Answer, err error, last *api.NodeFence) (r Result, _ error) {
	switch {
	case err != nil:
		return r, askedAgain(err)
	case a.Reply != nil:
		return Result{Reply: a.Reply}, nil
	case a.Opens == nil:
		return Result{Next: ReadRecord}, nil
	}
	r, err = o.prepareRecord(ctx, last, node, *a.Opens)
	if err != nil || last != nil || a.Object == nil {
		return r, askedAgain(err)
	}
	still, err := o.Judge.StillAsked(ctx, a.Object)
	if err != nil || !still {
		return Result{Next: ReadRecord}, askedAgain(err) // the record stays as it is, without a fence
	}
	return r, nil
}

// askedAgain has an event that asks for a fence sent again after a conflict: the request must not be lost.
func askedAgain(err error) error {
	if errors.Is(err, kube.ErrConflict) {
		return fmt.Errorf("%w: %w", run.ErrAgain, err)
	}
	return err
}

// isElsewhere tells whether another function owns the phase of the record, or another gate has just opened the
// record.
func (o *Opener) isElsewhere(f *api.NodeFence, e event.Event) bool {
	if f.Open() && !fence.Foreign(f.Status) && f.CurrentPhase() != api.Pending {
		return true
	}
	return e.Type() == events.NodeUnhealthy && o.openedJustNow(f)
}

// openedJustNow tells whether a gate has opened the record a moment ago, and is still at work on it. If that
// gate has died, the source finds the record by its missing nextLook.
func (o *Opener) openedJustNow(f *api.NodeFence) bool {
	if f.Status.OpenedAt == nil {
		return true
	}
	return f.Status.Phase == api.Pending && o.Client.Clock().Now().Sub(f.Status.OpenedAt.Time) < justOpened
}

// justOpened is how long a record is left to the gate that opened it: a node that dies loses all its conditions
// at the same time, and each change of a condition is an event.
const justOpened = 2 * time.Second

// anyPolicies accepts the policies that the census names, without a list. Later reads list all policies if one
// is missing.
func anyPolicies([]api.FencePolicy) bool { return true }
