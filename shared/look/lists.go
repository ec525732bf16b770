package look

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// Lists are the objects that one reservation is decided on, beside the ledger.
type Lists struct {
	Nodes   []corev1.Node
	Fences  []api.NodeFence
	Budgets []api.FenceBudget
	// Policies have the missing nodes, which count for every fence (S15).
	Policies []api.FencePolicy
}

// ReadLists reads them. The ledger is read before them (S14).
func ReadLists(ctx context.Context, c *kube.Client) (l Lists, err error) {
	if l.Nodes, err = c.Nodes(ctx); err != nil {
		return l, err
	}
	if l.Fences, err = c.Fences(ctx); err != nil {
		return l, err
	}
	if l.Budgets, err = c.FenceBudgets(ctx); err != nil {
		return l, err
	}
	l.Policies, err = c.Policies(ctx)
	return l, err
}

// Picture is what admission.Admit decides on for this fence: with the nodes that are missing,
// and with etcd's members where a quorum is asked for. With an error it is one on which no
// fence begins that asks for a quorum (S13).
func (l Lists) Picture(ctx context.Context, c *kube.Client, f *api.NodeFence) (admission.Picture, error) {
	o := admission.Observed{Nodes: ClusterNodes(l.Nodes), Fences: l.Fences, Budgets: l.Budgets, Policies: l.Policies, Apart: c.Clock().Apart()}
	var err error
	o.Etcd.Members, o.Etcd.From, err = Etcd(ctx, c, f, l.Nodes, l.Policies)
	o.Etcd.Lists, o.Etcd.Unread = etcdLists(f, l.Policies), err != nil
	return admission.NewPicture(o), err
}
