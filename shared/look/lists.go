package look

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// Lists are the objects on which one reservation is decided, besides the ledger.
type Lists struct {
	Nodes   []corev1.Node
	Fences  []api.NodeFence
	Budgets []api.FenceBudget
	// Policies have the missing nodes, which count for every fence (S15: a storm is seen as
	// one).
	Policies []api.FencePolicy
	etcd     *etcdOnce
}

// ReadLists reads them, all at once: none needs another, and the ledger was read before them
// (S14). The policies may be those that its caller has read for this very decision.
func ReadLists(ctx context.Context, c kube.Reader) (l Lists, err error) {
	l.etcd = &etcdOnce{from: c.Client}
	err = c.Together(
		func() (err error) { l.Nodes, err = c.Nodes(ctx); return err },
		func() (err error) { l.Fences, err = c.Fences(ctx); return err },
		func() (err error) { l.Budgets, err = c.FenceBudgets(ctx); return err },
		func() (err error) { l.Policies, err = c.Policies(ctx); return err },
	)
	return l, err
}

// Picture is the picture on which admission.Admit decides for this fence: with the missing
// nodes, and with etcd's members if a quorum is required. On an error it is a picture with
// which no fence begins that requires a quorum (S13: never etcd's quorum).
func (l Lists) Picture(ctx context.Context, c *kube.Client, f *api.NodeFence) (admission.Picture, error) {
	o := admission.Observed{Nodes: ClusterNodes(l.Nodes), Fences: l.Fences, Budgets: l.Budgets, Policies: l.Policies, Apart: c.Clock().Apart()}
	var err error
	o.Etcd.Members, o.Etcd.From, err = Etcd(ctx, l.etcd, f, l.Nodes, l.Policies)
	o.Etcd.Lists, o.Etcd.Unread = etcdLists(f, l.Policies), err != nil
	return admission.NewPicture(o), err
}

// etcdOnce reads etcd's pods for the first fence that asks for a quorum, and for all others
// that the same lists decide on.
type etcdOnce struct {
	from EtcdPods
	once sync.Once
	pods []corev1.Pod
	err  error
}

// EtcdPods are the pods as they were read.
func (e *etcdOnce) EtcdPods(ctx context.Context) ([]corev1.Pod, error) {
	e.once.Do(func() { e.pods, e.err = e.from.EtcdPods(ctx) })
	return e.pods, e.err
}
