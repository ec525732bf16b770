package policystatus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
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

// Trail is the part of the API server's client that deletes FenceReports and FenceActs.
type Trail interface {
	TrailAges(ctx context.Context, resource string, atMost int) ([]metav1.ObjectMeta, error)
	DeleteOfTrail(ctx context.Context, resource string, o *metav1.ObjectMeta) error
}

// Writer is the function. It keeps nothing between two ticks.
type Writer struct {
	Objects Objects
	// KeepHealthChecks answers MachineHealthChecks; nil if they are not adopted.
	KeepHealthChecks func(ctx context.Context) error
	// Trail deletes old reports of fences and acts of people; nil if they are not this function's.
	Trail Trail
	// Now is the API server's time.
	Now func() time.Time
	Log *slog.Logger
}

func unlessLost(err error) error {
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return err
}
