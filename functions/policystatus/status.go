package policystatus

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

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/look"
)

// writePolicies writes changes in the statuses of policies and budgets. What other
// functions decide by (missing nodes, failed Machines) changes over minutes, so a write
// that loses a race is left to the next tick.
func (w *Writer) writePolicies(ctx context.Context, fences []api.NodeFence, now time.Time) error {
	nodes, err := w.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("look at the nodes: %w", err)
	}
	o, partly, err := w.observe(ctx, nodes, fences)
	if err != nil {
		return err
	}
	ledger, err := w.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("look at the ledger: %w", err)
	}
	recorded := o.Policies
	o.Zones = look.Zones(o.Policies)
	o = o.Renewed(now)
	c := admission.NewPicture(o)
	ledger = admission.Current(ledger, c, now) // counted, and not written
	failed := []error{partly}
	for i := range recorded {
		p := recorded[i].DeepCopy()
		if !o.Knows(p) {
			continue // the missing nodes on record stay there
		}
		failed = append(failed, w.writePolicy(ctx, p, o.Policies, c, ledger, now))
	}
	for i := range o.Budgets {
		failed = append(failed, w.writeBudget(ctx, &o.Budgets[i], c, ledger, now))
	}
	return errors.Join(failed...)
}

// observe reads what the statuses are about. If the Machines or etcd's members can't be
// read, it continues with the rest, and returns that error in partly.
func (w *Writer) observe(ctx context.Context, nodes []corev1.Node, fences []api.NodeFence) (o admission.Observed, partly, err error) {
	o.Nodes, o.Fences = look.ClusterNodes(nodes), fences
	if o.Policies, err = w.Objects.Policies(ctx); err != nil {
		return o, nil, fmt.Errorf("look at the policies: %w", err)
	}
	if o.Budgets, err = w.Objects.FenceBudgets(ctx); err != nil {
		return o, nil, fmt.Errorf("look at the budgets: %w", err)
	}
	var failed []error
	if o.Machines, err = look.MachinesFor(ctx, w.Objects, o.Policies); err != nil {
		o.MachinesUnread, failed = true, append(failed, err)
	}
	if listed := etcdListed(o.Policies); len(listed) > 0 {
		members, from, err := look.ObservedEtcd(ctx, w.Objects, nodes, listed)
		if err != nil {
			failed = append(failed, fmt.Errorf("look at etcd's members: %w", err))
		}
		o.Etcd = admission.EtcdObserved{Shown: slices.Sorted(maps.Keys(members)), ShownBy: from, Unread: err != nil}
	}
	return o, errors.Join(failed...), nil
}

// etcdListed are the nodes that any policy lists as etcd's.
func etcdListed(policies []api.FencePolicy) (all []string) {
	for i := range policies {
		all = append(all, policies[i].Spec.ControlPlane.EtcdNodeNames...)
	}
	return all
}

// writePolicy brings one policy's status up to date. It leaves lists as they are that this
// program does not understand in full.
func (w *Writer) writePolicy(ctx context.Context, p *api.FencePolicy, all []api.FencePolicy, c admission.Picture, ledger *api.FenceLedger, now time.Time) error {
	st := admission.PolicyStatus(p, all, c, ledger, now)
	st.ObservedAt = p.Status.ObservedAt
	if p.NotUnderstood.In("status.missing") { // the new status leaves this list out
		st.Missing = p.Status.Missing
	}
	if p.NotUnderstood.In("status.failedMachines") {
		st.FailedMachines = p.Status.FailedMachines
	}
	if equality.Semantic.DeepEqual(st, p.Status) && !aged(p, now) {
		return nil
	}
	at := metav1.NewMicroTime(now.UTC())
	p.Status, p.Status.ObservedAt = st, &at
	return unlessLost(w.Objects.SavePolicyStatus(ctx, p))
}

// aged reports whether observedAt is too old. People see there that the functions run
// (admission.StatusAge). While nodes are missing it is written more often: the time for which
// they have been missing counts only while somebody keeps observing (admission.MissingKept).
func aged(p *api.FencePolicy, now time.Time) bool {
	at, most := p.Status.ObservedAt, admission.StatusAge
	if len(p.Status.Missing) > 0 {
		most = admission.MissingKept / 5
	}
	return at == nil || !observed.Fresh(at.Time, now, most)
}

func (w *Writer) writeBudget(ctx context.Context, b *api.FenceBudget, c admission.Picture, ledger *api.FenceLedger, now time.Time) error {
	st := admission.BudgetStatus(b, c, ledger, now)
	st.ObservedAt = b.Status.ObservedAt
	if equality.Semantic.DeepEqual(st, b.Status) {
		return nil
	}
	at := metav1.NewMicroTime(now.UTC())
	b.Status, b.Status.ObservedAt = st, &at
	return unlessLost(w.Objects.SaveBudgetStatus(ctx, b))
}
