package isolate

import (
	"context"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/step"
)

// Name of the function.
const Name = "isolate"

// Phases that it owns.
var Phases = []api.Phase{api.Isolating}

// Isolator is the function.
type Isolator struct {
	Client *kube.Client
	Loop   *step.Loop
}

// Handle takes one event.
func (i *Isolator) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.Begin(ctx, Name)
	node, err := events.Node(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", run.ErrMalformed, err)
	}
	return i.Loop.Run(ctx, node, e)
}

// Look sees the node and the brakes, and the Lease where that alone may speak for
// the fence.
func (i *Isolator) Look(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	if err := i.Client.LookNodeOnly(ctx, f, seen); err != nil {
		return err
	}
	if fence.Early(f.Spec.Policy) != nil {
		if err := i.Client.LookLease(ctx, f, seen); err != nil {
			return err
		}
	}
	return i.Client.LookBrakes(ctx, f, seen)
}

// Act places the marks. What was there before is in the record already (S22).
func (i *Isolator) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen *fence.Seen) error {
	if a != fence.Isolate {
		return fmt.Errorf("isolate can't %s", a)
	}
	return i.Client.Isolate(ctx, f.Spec.Node, f.Spec.NodeUID, seen.Node.Version, f.UID, f.Status.Placed.Cordon)
}
