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
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// Name is the function's name.
const Name = "cleanup"

// Phases that belong to the function.
var Phases = api.PhasesOf(Name)

// Cleaner is the function.
type Cleaner struct {
	Client *kube.Client
	Log    *slog.Logger
	// Reporter is told which Pods are not moved, and why.
	Reporter report.Reporter
	Loop     *loop.Loop
}

// Handle handles one event.
func (c *Cleaner) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	node, err := run.Node(e)
	if err != nil {
		return nil, err
	}
	if e.Type() == events.PodsFailing {
		return nil, c.evict(ctx, node, e)
	}
	return c.Loop.Run(ctx, node, e, c.Loop.Elapsed())
}

// Look reads the objects that fence.Needs names.
func (c *Cleaner) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	return look.Looker{Client: c.Client}.At(ctx, f, seen, notBefore)
}

// Act carries out one batch of the release, or sets or removes a mark before or after it.
func (c *Cleaner) Act(ctx context.Context, f *api.NodeFence, a fence.Action, seen observed.Look) (loop.Result, error) {
	node, uid := f.Spec.NodeName, f.Status.Decision.NodeUID
	switch a {
	case fence.Isolate:
		return loop.Result{}, c.Client.Isolate(ctx, node, uid, seen.Node.Version, f.UID, f.Status.Placed.Cordon)
	case fence.Evict:
		evicted, err := c.drain(ctx, f, seen.Draining)
		return loop.Result{Evicted: evicted}, err
	case fence.MarkNotReady:
		return loop.Result{}, c.Client.SetReadyUnknown(ctx, node, uid, seen.Node.Version)
	case fence.ClearOutOfService:
		return loop.Result{}, c.Client.ClearOutOfService(ctx, node, uid, f.OutOfServiceAs())
	case fence.Release:
		return loop.Result{}, c.release(ctx, f, seen)
	case fence.DeletePods:
		return loop.Result{}, c.carryOut(ctx, f.Status.Release.NotAfter, c.deletions(f, seen.Left))
	case fence.DeleteNode:
		return loop.Result{}, c.carryOut(ctx, f.Status.Release.NotAfter, []func(context.Context) error{func(ctx context.Context) error {
			return c.Client.DeleteNode(ctx, node, uid, seen.Node.Version)
		}})
	}
	return loop.Result{}, fmt.Errorf("cleanup can't %s", a)
}

// release carries out the strategy all together. The taint alone, or deletions alone, would
// leave the volumes attached for minutes.
func (c *Cleaner) release(ctx context.Context, f *api.NodeFence, seen observed.Look) error {
	left, how := seen.Left, facts.ReleaseOf(f)
	var all []func(context.Context) error
	if how.Taints() {
		all = append(all, func(ctx context.Context) error {
			return c.Client.PlaceOutOfService(ctx, f.Spec.NodeName, f.Status.Decision.NodeUID, seen.Node.Version, f.UID, f.OutOfServiceAs())
		})
	}
	all = append(all, c.deletions(f, left)...)
	for _, a := range left.Detach {
		all = append(all, func(ctx context.Context) error { return c.Client.DeleteVolumeAttachment(ctx, a.Name, a.UID) })
	}
	return c.carryOut(ctx, f.Status.Release.NotAfter, all)
}

// deletions returns the deletions of this batch's pods. A pod that a finalizer keeps gets a terminal
// phase, as Kubernetes' pod garbage collector gives it: the Job controller waits for the phase before
// it removes its finalizer. The deletion comes first, because a disruption budget may refuse it, and
// holds no pod that has ended. If the process dies in between, the next look finds a deleted pod
// without a terminal phase, and does the same again.
func (c *Cleaner) deletions(f *api.NodeFence, left *observed.Left) (all []func(context.Context) error) {
	how := facts.ReleaseOf(f)
	for _, p := range facts.Batch(f, left) {
		all = append(all, func(ctx context.Context) error {
			if how.RespectDisruptionBudgets {
				if held, err := c.Client.ForceEvictPod(ctx, p.Namespace, p.Name, p.UID); err != nil || held != "" {
					return err
				}
			} else if err := c.Client.ForceDeletePod(ctx, p.Namespace, p.Name, p.UID); err != nil {
				return err
			}
			if len(p.Finalizers) == 0 || p.Ended {
				return nil
			}
			return c.Client.FailPod(ctx, p.Namespace, p.Name, p.UID, "nodefence has fenced node "+f.Spec.NodeName+" and released its pods")
		})
	}
	return all
}

// carryOut starts no deletion after the batch's deadline: a process that was stopped
// meanwhile may find the machine switched on, and its pods running again (S3: a proof is
// about this time; S4: off, seen off, released, on).
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

// parallel bounds the deletions that run at once.
const parallel = 8
