package waker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// Objects are the API server's.
type Objects interface {
	Nodes(ctx context.Context) ([]corev1.Node, error)
	Policies(ctx context.Context) ([]api.FencePolicy, error)
	Budgets(ctx context.Context) ([]api.FenceBudget, error)
	Machines(ctx context.Context) ([]fence.Machine, error)
	ObservedEtcd(ctx context.Context, nodes []corev1.Node) (members map[string]bool, from map[string]string, err error)
	Ledger(ctx context.Context) (*api.FenceLedger, error)
	SaveLedger(ctx context.Context, l *api.FenceLedger) (*api.FenceLedger, error)
	SavePolicyStatus(ctx context.Context, p *api.FencePolicy) error
	SaveBudgetStatus(ctx context.Context, b *api.FenceBudget) error
}

// show writes what has changed in the status of policies and budgets. What is decided by
// (missing nodes, failed Machines) has waited for minutes: a write that loses a race is left
// to the next tick.
func (r *round) show(ctx context.Context, fences []api.NodeFence, now time.Time) error {
	nodes, err := r.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("look at the nodes: %w", err)
	}
	policies, err := r.Objects.Policies(ctx)
	if err != nil {
		return fmt.Errorf("look at the policies: %w", err)
	}
	budgets, err := r.Objects.Budgets(ctx)
	if err != nil {
		return fmt.Errorf("look at the budgets: %w", err)
	}
	ledger, err := r.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("look at the ledger: %w", err)
	}
	var failed []error
	unseen := false // the Machines
	c := fence.Cluster{Nodes: kube.ClusterNodes(nodes), Fences: fences, Budgets: budgets}
	if slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return p.Spec.Machines != nil }) {
		if c.Machines, err = r.Objects.Machines(ctx); err != nil {
			unseen, failed = true, append(failed, fmt.Errorf("look at the Machines: %w", err))
		}
	}
	if slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return len(p.Spec.ControlPlane.EtcdNodeNames) > 0 }) {
		members, from, err := r.Objects.ObservedEtcd(ctx, nodes)
		if err != nil {
			failed = append(failed, fmt.Errorf("look at etcd's members: %w", err))
		}
		c.EtcdSeen, c.EtcdSeenBy, c.EtcdUnread = slices.Sorted(maps.Keys(members)), from, err != nil
	}
	if len(policies) > 0 {
		r.tellUnready(nodes, fences, now)
	}
	at := metav1.NewMicroTime(now.UTC())
	for i := range policies {
		p := policies[i].DeepCopy()
		if unseen && p.Spec.Machines != nil {
			continue // what was missing stays on record
		}
		st := fence.PolicyStatus(p, policies, c, ledger, now)
		st.ObservedAt = p.Status.ObservedAt
		if p.NotUnderstood.In("status.missing") { // nor is it written
			st.Missing = p.Status.Missing
		}
		if p.NotUnderstood.In("status.failedMachines") {
			st.FailedMachines = p.Status.FailedMachines
		}
		if !equality.Semantic.DeepEqual(st, p.Status) {
			p.Status, p.Status.ObservedAt = st, &at
			failed = append(failed, unlessLost(r.Objects.SavePolicyStatus(ctx, p)))
		}
		r.tellMissing(p, fences, now)
		r.tellFailed(p, fences, now)
	}
	for i := range budgets {
		b := &budgets[i]
		st := fence.BudgetStatus(b, c, ledger, now)
		st.ObservedAt = b.Status.ObservedAt
		if equality.Semantic.DeepEqual(st, b.Status) {
			continue
		}
		b.Status, b.Status.ObservedAt = st, &at
		failed = append(failed, unlessLost(r.Objects.SaveBudgetStatus(ctx, b)))
	}
	return errors.Join(failed...)
}

func unlessLost(err error) error {
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return err
}
