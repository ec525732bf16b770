package cleanup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function.
const Name = "cleanup"

// Phases that it owns.
var Phases = []api.Phase{api.Releasing}

// Cleaner is the function.
type Cleaner struct {
	Client *kube.Client
	Log    *slog.Logger
	// Reporter hears of what is not moved, and why.
	Reporter report.Reporter
	Loop     *loop.Loop
}

// Handle takes one event.
func (c *Cleaner) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	node, err := run.Node(e)
	if err != nil {
		return nil, err
	}
	if e.Type() == events.PodsFailing {
		return nil, c.evict(ctx, node, e)
	}
	return c.Loop.Run(ctx, node, e, c.Loop.Since(e))
}

// Look sees what fence.Needs names.
func (c *Cleaner) Look(ctx context.Context, f *api.NodeFence, seen *fence.Seen, since time.Duration) error {
	return look.Looker{Client: c.Client}.At(ctx, f, seen, since)
}

// Act is one batch of the release, or a mark around it.
func (c *Cleaner) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen *fence.Seen) error {
	node, uid := f.Spec.NodeName, f.Status.Decision.NodeUID
	switch a {
	case fence.MarkNotReady:
		return c.Client.SetReadyUnknown(ctx, node, uid, seen.Node.Version)
	case fence.ClearOutOfService:
		return c.Client.ClearOutOfService(ctx, node, uid, f.OutOfServiceAs())
	case fence.Release:
		return c.release(ctx, f, seen)
	case fence.DeletePods:
		return c.carryOut(ctx, f.Status.Release.NotAfter, c.deletions(f, seen.Left))
	case fence.DeleteNode:
		return c.carryOut(ctx, f.Status.Release.NotAfter, []func(context.Context) error{func(ctx context.Context) error {
			return c.Client.DeleteNode(ctx, node, uid, seen.Node.Version)
		}})
	}
	return fmt.Errorf("cleanup can't %s", a)
}

// release does what the strategy says, all together: of taint and deletions
// either alone leaves the volumes attached for minutes.
func (c *Cleaner) release(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	left, how := seen.Left, fence.ReleaseOf(f)
	var all []func(context.Context) error
	if how.Taints() {
		all = append(all, func(ctx context.Context) error {
			return c.Client.PlaceOutOfService(ctx, f.Spec.NodeName, f.Status.Decision.NodeUID, seen.Node.Version, f.OutOfServiceAs())
		})
	}
	all = append(all, c.deletions(f, left)...)
	for _, a := range left.Detach {
		all = append(all, func(ctx context.Context) error { return c.Client.DeleteVolumeAttachment(ctx, a.Name, a.UID) })
	}
	return c.carryOut(ctx, f.Status.Release.NotAfter, all)
}

// deletions are of the pods of this batch.
func (c *Cleaner) deletions(f *api.NodeFence, left *fence.Left) (all []func(context.Context) error) {
	how := fence.ReleaseOf(f)
	for _, p := range fence.Batch(f, left) {
		all = append(all, func(ctx context.Context) error {
			if how.RespectDisruptionBudgets {
				return c.Client.ForceEvictPod(ctx, p.Namespace, p.Name, p.UID)
			}
			return c.Client.ForceDeletePod(ctx, p.Namespace, p.Name, p.UID)
		})
	}
	return all
}

// carryOut begins nothing that the batch's time is over for: who stood still finds
// the machine switched on, and what ran on it running again (S3, S4).
func (c *Cleaner) carryOut(ctx context.Context, until *api.Time, all []func(context.Context) error) error {
	if until == nil {
		return errors.New("a release that doesn't say until when it counts is not carried out")
	}
	ctx, cancel := context.WithTimeout(ctx, until.Sub(c.Client.Clock().Now()))
	defer cancel()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, do := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if !c.Client.Clock().Now().Before(until.Time) {
				errs[i] = fmt.Errorf("the time of this batch is over: %w", kube.ErrConflict)
				return
			}
			errs[i] = do(ctx)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// parallel bounds the deletions under way at once.
const parallel = 8
