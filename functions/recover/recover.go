package recover

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/remediation"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function.
const Name = "recover"

// Phases that it owns.
var Phases = api.PhasesOf(Name)

// Recoverer is the function.
type Recoverer struct {
	Client *kube.Client
	Log    *slog.Logger
	Loop   *loop.Loop
	// Remediation are the Leases by which other programs were kept away; nil if there are none.
	Remediation *remediation.Leases
	// renewed is what this process saw last of the Leases of nodes that have an out-of-service taint
	// without a record, by their UIDs.
	renewed sync.Map
}

// Handle takes one event.
func (r *Recoverer) Handle(ctx context.Context, e event.Event) (*event.Event, error) {
	ctx = kube.WithFunction(ctx, Name)
	node, err := run.Node(e)
	if err != nil {
		return nil, err
	}
	if e.Type() == events.NodeMarked {
		return nil, r.orphan(ctx, node, e)
	}
	return r.Loop.Run(ctx, node, e, r.Loop.Elapsed())
}

// Look reads what fence.Needs names.
func (r *Recoverer) Look(ctx context.Context, f *api.NodeFence, seen *observed.Look, notBefore time.Duration) error {
	return look.Looker{Client: r.Client}.At(ctx, f, seen, notBefore)
}

// Act removes what was placed, writes the report of the fence, and lets the record go.
func (r *Recoverer) Act(ctx context.Context, f *api.NodeFence, a fence.Action, _ observed.Look) (loop.Result, error) {
	node, uid := f.Spec.NodeName, f.Status.Decision.NodeUID
	switch a {
	case fence.ClearOutOfService:
		return loop.Result{}, r.Client.ClearOutOfService(ctx, node, uid, f.OutOfServiceAs())
	case fence.Undo:
		return loop.Result{}, r.Client.RemoveIsolation(ctx, node, uid, "", string(f.UID), f.Status.Placed.Cordon)
	case fence.WriteReport:
		return r.writeReport(ctx, f)
	case fence.DropFinalizer:
		if err := r.Remediation.GiveBack(ctx, node); err != nil {
			// The finalizer comes off all the same (S27). The Lease runs out by itself.
			r.Log.Warn("the Lease that kept others away is not given back, and runs out", "function", Name, "node", node, "error", err.Error())
		}
		record, err := r.Client.DropFinalizer(ctx, f)
		return loop.Result{Record: record}, err
	}
	return loop.Result{}, fmt.Errorf("recover can't %s", a)
}

// writeReport creates the FenceReport of a fence that ends, and tells the broker of it. If there is one of this name
// already, nothing is written: the next look shows whether it is the report of this fence.
func (r *Recoverer) writeReport(ctx context.Context, f *api.NodeFence) (loop.Result, error) {
	report := fence.ReportOf(f)
	if err := r.Client.CreateFenceReport(ctx, report); err != nil {
		return loop.Result{}, err
	}
	e := r.Loop.Source.Reported(report, r.Loop.Now())
	return loop.Result{Reply: &e}, nil
}

// orphan removes our taint if there is no open record for it (S22). It reads the node first, and
// changes it only if it is still the same: a fence that begins in between has marked it again.
func (r *Recoverer) orphan(ctx context.Context, node string, e event.Event) error {
	n, err := r.Client.Node(ctx, node)
	if err != nil || n == nil {
		return err
	}
	f, err := r.Client.Fence(ctx, node)
	if err != nil {
		return err
	}
	removed := false
	for _, t := range n.Spec.Taints {
		if t.Key != api.IsolationTaint || (f != nil && f.Open() && string(f.UID) == t.Value) {
			continue
		}
		if err := r.Client.RemoveIsolation(ctx, node, n.UID, n.ResourceVersion, t.Value, true); err != nil {
			return fmt.Errorf("remove a mark without a record from %s: %w", node, err)
		}
		removed = true
		r.Log.Info("removed a mark without a record", "function", Name, "node", node, "event", e.ID(), "fence", t.Value)
	}
	if removed {
		return nil // the node is another version now, and the source tells again of what is left on it
	}
	return r.backInService(ctx, n, f, e)
}
