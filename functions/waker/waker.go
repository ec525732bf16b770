package waker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

// Name of the function.
const Name = "waker"

// Fences lists all NodeFences.
type Fences interface {
	Fences(ctx context.Context) ([]api.NodeFence, error)
}

// Waker is the function.
type Waker struct {
	Fences Fences
	Source events.Source
	// Objects are what policies and budgets show of themselves; nil to leave it.
	Objects Objects
	// Sender reaches the broker that everybody else's events go through.
	Sender run.Sender
	// Now is the API server's time.
	Now func() time.Time
	Log *slog.Logger
}

// Handle takes one tick, from whatever clock.
func (w *Waker) Handle(ctx context.Context, _ event.Event) (*event.Event, error) {
	return nil, w.Wake(ctx)
}

// Wake sends the event of every open fence that nobody has looked at for a whole
// resync after it was due, brings the status of policies and budgets up to date, and
// has storms end that no fence asks for. One that fails keeps no other from being done.
func (w *Waker) Wake(ctx context.Context) error {
	ctx = kube.Begin(ctx, Name)
	fences, err := w.Fences.Fences(ctx)
	if err != nil {
		return fmt.Errorf("look for overdue fences: %w", err)
	}
	now := w.Now()
	var failed []error
	for i := range fences {
		f := &fences[i]
		if !overdue(f, now) {
			continue
		}
		// The slot makes it another event than the last tick's, and the same one
		// as that of a waker that ticks beside this one.
		if err := w.Sender.Send(ctx, w.Source.Phase(f, now.Truncate(fence.Resync), now)); err != nil {
			failed = append(failed, fmt.Errorf("wake the fence of %s: %w", f.Spec.Node, err))
			continue
		}
		w.Log.Info("overdue, sent again", "function", Name, "node", f.Spec.Node, "fence", string(f.UID), "phase", string(f.CurrentPhase()))
	}
	if w.Objects != nil {
		failed = append(failed, w.show(ctx, fences, now), w.calm(ctx))
	}
	return errors.Join(failed...)
}

// overdue: a missing nextCheck means now (S19).
func overdue(f *api.NodeFence, now time.Time) bool {
	return f.Open() && (f.Status.NextCheck == nil || now.Sub(f.Status.NextCheck.Time) >= fence.Resync)
}
