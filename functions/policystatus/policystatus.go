package policystatus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/run"
)

// Name is the function's name.
const Name = "policystatus"

// Tick is the time between two looks of Run.
const Tick = facts.Resync

// Objects is the part of the API server's client that the function needs.
type Objects interface {
	look.Machines
	Fences(ctx context.Context) ([]api.NodeFence, error)
	Nodes(ctx context.Context) ([]corev1.Node, error)
	Policies(ctx context.Context) ([]api.FencePolicy, error)
	FenceBudgets(ctx context.Context) ([]api.FenceBudget, error)
	EtcdPods(ctx context.Context) ([]corev1.Pod, error)
	Ledger(ctx context.Context) (*api.FenceLedger, error)
	SaveLedger(ctx context.Context, l *api.FenceLedger) (*api.FenceLedger, error)
	SavePolicyStatus(ctx context.Context, p *api.FencePolicy) error
	SaveBudgetStatus(ctx context.Context, b *api.FenceBudget) error
}

// Writer is the function. It keeps nothing between two ticks.
type Writer struct {
	Objects Objects
	// KeepHealthChecks answers MachineHealthChecks; nil if they are not adopted.
	KeepHealthChecks func(ctx context.Context) error
	// Now is the API server's time.
	Now func() time.Time
	Log *slog.Logger
}

// Handle handles one tick, from any clock.
func (w *Writer) Handle(ctx context.Context, _ event.Event) (*event.Event, error) {
	return nil, w.Write(ctx)
}

// Write brings the statuses of policies, budgets and the ledger up to date. A write that
// fails does not keep the others from being tried.
func (w *Writer) Write(ctx context.Context) error {
	ctx = kube.WithFunction(ctx, Name)
	err := w.writeStatuses(ctx)
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
