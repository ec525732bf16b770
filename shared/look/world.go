package look

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// World is what one decision, or several of one moment, rest on besides the ledger: the policies
// and budgets as they are listed, and what the ledger's census counts; or, where nothing may be
// decided by the census, lists of everything.
type World struct {
	// Policies have the missing nodes, which count for every fence (S15: a storm is seen as
	// one).
	Policies []api.FencePolicy

	reader  kube.Reader
	ledger  *api.FenceLedger
	budgets []api.FenceBudget
	// listed has the lists, once they are needed, etcd has its pods, and planes the nodes that
	// have a label of the control plane.
	listed func() (Lists, error)
	etcd   *etcdOnce
	planes func() ([]corev1.Node, error)
}

// ReadWorld reads it. The ledger was read before (S14: the limits hold).
func ReadWorld(ctx context.Context, c kube.Reader, led *api.FenceLedger) (*World, error) {
	w := &World{reader: c, ledger: led, etcd: &etcdOnce{from: c.Client}}
	w.listed = sync.OnceValues(func() (Lists, error) { return ReadLists(ctx, c) })
	w.planes = sync.OnceValues(func() ([]corev1.Node, error) { return labelledPlanes(ctx, c) })
	if admission.CensusLacks(led, c.Clock().Now()) != "" {
		l, err := w.listed()
		w.Policies = l.Policies
		return w, err
	}
	err := c.Together(
		func() (err error) { w.Policies, err = c.Policies(ctx); return err },
		func() (err error) { w.budgets, err = c.FenceBudgets(ctx); return err },
	)
	return w, err
}

// At is the same, with the ledger as it is after others were decided on.
func (w *World) At(led *api.FenceLedger) *World {
	at := *w
	at.ledger = led
	return &at
}

// Picture is the picture on which admission.Admit decides for this fence, whose node was
// just read. The fences beside it ask for a slot in the same moment.
func (w *World) Picture(ctx context.Context, f *api.NodeFence, node observed.Node, beside []*api.NodeFence) (p admission.Picture, err error) {
	now := w.reader.Clock().Now()
	if admission.CensusLacks(w.ledger, now) == "" && w.policyUnnamed() == "" {
		members, lacks, err := w.quorum(ctx, f, node)
		if err != nil {
			return p, err
		}
		if lacks == "" {
			var o admission.Observed
			o, lacks = admission.ByCensus(w.ledger, f, node, beside, members, w.Policies, w.budgets, now)
			o.Apart = w.reader.Clock().Apart()
			p = admission.NewPicture(o)
		}
		if lacks == "" {
			return p, nil
		}
	}
	l, err := w.listed()
	if err != nil {
		return p, err
	}
	return l.Picture(ctx, w.reader.Client, f)
}

// policyUnnamed says which policy or budget the census does not name: it was taken without regard to
// the nodes that this policy or budget is about, such as a policy's list of etcd's nodes (S13).
func (w *World) policyUnnamed() string {
	named := w.ledger.Status.Census
	for i := range w.Policies {
		if !slices.Contains(named.Policies, w.Policies[i].Name) {
			return "it does not name policy " + w.Policies[i].Name
		}
	}
	for i := range w.budgets {
		if !slices.Contains(named.Budgets, w.budgets[i].Name) {
			return "it does not name budget " + w.budgets[i].Name
		}
	}
	return ""
}
