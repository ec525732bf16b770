package waker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
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
	Ledger(ctx context.Context) (*api.FenceLedger, error)
	SaveLedger(ctx context.Context, l *api.FenceLedger) (*api.FenceLedger, error)
	SavePolicyStatus(ctx context.Context, p *api.FencePolicy) error
	SaveBudgetStatus(ctx context.Context, b *api.FenceBudget) error
}

// show writes what has changed in the status of policies and budgets. Nobody
// decides by it, so that a write that loses a race is left to the next tick.
func (w *Waker) show(ctx context.Context, fences []api.NodeFence, now time.Time) error {
	nodes, err := w.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("look at the nodes: %w", err)
	}
	policies, err := w.Objects.Policies(ctx)
	if err != nil {
		return fmt.Errorf("look at the policies: %w", err)
	}
	budgets, err := w.Objects.Budgets(ctx)
	if err != nil {
		return fmt.Errorf("look at the budgets: %w", err)
	}
	ledger, err := w.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("look at the ledger: %w", err)
	}
	var failed []error
	unseen := false // the Machines
	c := fence.Cluster{Nodes: kube.ClusterNodes(nodes), Fences: fences, Budgets: budgets}
	if slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return p.Spec.Expected != nil && p.Spec.Expected.MachineSelector != nil }) {
		if c.Machines, err = w.Objects.Machines(ctx); err != nil {
			unseen, failed = true, append(failed, fmt.Errorf("look at the Machines: %w", err))
		}
	}
	at := metav1.NewMicroTime(now.UTC())
	for i := range policies {
		p := policies[i].DeepCopy()
		if x := p.Spec.Expected; unseen && x != nil && x.MachineSelector != nil {
			continue // what was missing stays on record
		}
		st := fence.PolicyStatus(p, policies, c, ledger, now)
		st.ObservedAt = p.Status.ObservedAt
		if !equality.Semantic.DeepEqual(st, p.Status) {
			p.Status, p.Status.ObservedAt = st, &at
			failed = append(failed, unlessLost(w.Objects.SavePolicyStatus(ctx, p)))
		}
		failed = append(failed, w.tellMissing(ctx, p, fences, now), w.tellFailed(ctx, p, fences, now))
	}
	for i := range budgets {
		b := &budgets[i]
		st := fence.BudgetStatus(b, c, ledger)
		st.ObservedAt = b.Status.ObservedAt
		if equality.Semantic.DeepEqual(st, b.Status) {
			continue
		}
		b.Status, b.Status.ObservedAt = st, &at
		failed = append(failed, unlessLost(w.Objects.SaveBudgetStatus(ctx, b)))
	}
	return errors.Join(failed...)
}

// tellMissing sends the gate an event for each node that is missing for too long and
// has no open fence. The gate looks at the Node and at the policy's status itself.
func (w *Waker) tellMissing(ctx context.Context, p *api.FencePolicy, fences []api.NodeFence, now time.Time) error {
	var failed []error
	for _, m := range fence.Overdue(p, now) {
		open := slices.ContainsFunc(fences, func(f api.NodeFence) bool { return f.Spec.Node == m.Node && f.Open() })
		if m.Node == "" || open {
			continue
		}
		e := w.Source.Condition(events.ConditionChange{
			Node: m.Node, Condition: api.NodeCondition, Status: api.NodeMissing, Reason: string(api.NodeMissingTold), Since: m.Since.Time, Unhealthy: true,
		}, now.Truncate(fence.Resync), now)
		if err := w.Sender.Send(ctx, e); err != nil {
			failed = append(failed, fmt.Errorf("tell that node %s is missing: %w", m.Node, err))
		}
	}
	return errors.Join(failed...)
}

// tellFailed does so for each node that is to be fenced on its Machine's account.
func (w *Waker) tellFailed(ctx context.Context, p *api.FencePolicy, fences []api.NodeFence, now time.Time) error {
	var failed []error
	for i := range p.Status.Failed {
		node, uid := p.Status.Failed[i].Record(), p.Status.Failed[i].NodeUID
		m := fence.MachineDue(p, node, uid, now)
		if p.Status.Failed[i].Node == "" {
			m = fence.AloneDue(p, p.Status.Failed[i].UID, now)
		}
		open := slices.ContainsFunc(fences, func(f api.NodeFence) bool { return f.Spec.Node == node && f.Open() })
		if m == nil || open {
			continue
		}
		e := w.Source.Condition(events.ConditionChange{
			Node: node, NodeUID: string(uid), Condition: api.MachineCondition, Status: m.Status, Reason: string(api.MachineFailed), Since: m.Since.Time, Unhealthy: true,
		}, now.Truncate(fence.Resync), now)
		if err := w.Sender.Send(ctx, e); err != nil {
			failed = append(failed, fmt.Errorf("tell that Machine %s of node %s failed: %w", m.Name, node, err))
		}
	}
	return errors.Join(failed...)
}

func unlessLost(err error) error {
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return err
}
