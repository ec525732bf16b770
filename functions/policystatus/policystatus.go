package policystatus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

// Handle handles one tick, from any clock.
func (w *Writer) Handle(ctx context.Context, _ event.Event) (*event.Event, error) {
	return nil, w.Write(ctx)
}

// Write brings the statuses of policies, budgets and the ledger up to date. A write that
// fails does not keep the others from being tried.
func (w *Writer) Write(ctx context.Context) error {
	ctx = kube.WithFunction(ctx, Name)
	err := errors.Join(w.writeStatuses(ctx), w.pruneTrail(ctx))
	if w.KeepHealthChecks != nil {
		err = errors.Join(err, w.KeepHealthChecks(ctx)) // last: no status waits for what others wrote
	}
	return err
}

func (w *Writer) writeStatuses(ctx context.Context) error {
	fences, err := w.Objects.Fences(ctx)
	if err != nil {
		return fmt.Errorf("look at the fences: %w", err)
	}
	return errors.Join(w.writePolicies(ctx, fences, w.Now()), w.writeLedger(ctx))
}

// Run writes at every tick until ctx ends.
func (w *Writer) Run(ctx context.Context, every time.Duration) {
	run.Every(ctx, every, w.Log, Name, "cannot write all statuses; the next tick tries again", w.Write)
}
