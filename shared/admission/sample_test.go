package admission_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// sample draws a snapshot: up to nine nodes in two zones or none, of which some are
// dead, fenced, or still, under up to three policies and two budgets.
func sample(r *rand.Rand) snapshot {
	var s snapshot
	total := 2 + r.IntN(8)
	seen, since := observed.StampOf(fencetest.Start), observed.StampOf(fencetest.Start.Add(-time.Minute))
	s.ledger.Status.Leases = api.LeasePicture{Since: &since, ObservedAt: &seen, Total: int32(total), Renewal: metav1.Duration{Duration: fencetest.Renewal}}
	for i := range total {
		name := fmt.Sprintf("n%d", i)
		n := admission.Node{Name: name, Unhealthy: i == 0 && r.IntN(4) > 0 || r.IntN(5) == 0, Labels: map[string]string{}}
		if z := r.IntN(5); z < 4 {
			n.Labels[fencetest.ZoneKey] = []string{"a", "b"}[z%2]
		}
		if r.IntN(2) == 0 {
			n.Labels["role"] = "x"
		}
		if i > 0 {
			s.meet(r, name)
		}
		s.cluster.Nodes = append(s.cluster.Nodes, n)
	}
	for i := range r.IntN(3) + 1 {
		s.policies = append(s.policies, samplePolicy(r, i))
	}
	if r.IntN(4) == 0 {
		s.ledger.Status.Storms = append(s.ledger.Status.Storms, api.Storm{Policy: "p0", Since: since})
	}
	for range r.IntN(3) {
		s.cluster.Budgets = append(s.cluster.Budgets, sampleBudget(r))
	}
	if r.IntN(4) == 0 {
		s.cluster.Etcd = map[string]bool{}
		for i := range min(total, 1+2*r.IntN(2)) {
			s.cluster.Nodes[i].ControlPlane, s.cluster.Etcd[s.cluster.Nodes[i].Name] = true, r.IntN(3) > 0
		}
	}
	s.fence = api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "n0", UID: "f-n0"}, Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	s.fence.Spec.NodeName = "n0"
	s.fence.Status = api.NodeFenceStatus{Decision: s.fence.Status.Decision, Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &since}
	for i := range int32(r.IntN(4)) {
		s.fence.Status.Past = append(s.fence.Status.Past, api.PastFence{FenceNumber: int64(i), ClosedAt: since, Cuts: int32(r.IntN(2))})
	}
	s.cluster.Fences = append(s.cluster.Fences, s.fence)
	return s
}

// meet gives another node a fence, a still Lease, or a fence begun lately.
func (s *snapshot) meet(r *rand.Rand, name string) {
	switch r.IntN(12) {
	case 0, 1:
		p := []api.Phase{api.Isolating, api.Releasing, api.Recovering, api.Pending}[r.IntN(4)]
		s.cluster.Fences = append(s.cluster.Fences, fencetest.Running(name, types.UID("f-"+name), p))
	case 2:
		s.ledger.Status.Leases.Still = append(s.ledger.Status.Leases.Still, api.StillLease{NodeName: name, Stale: r.IntN(2) == 0})
	case 3, 4, 5:
		fencetest.Admitted(&s.ledger, name, time.Duration(r.IntN(90))*time.Minute)
	}
}

func samplePolicy(r *rand.Rand, i int) api.FencePolicy {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Spec: api.FencePolicySpec{
		Selector: policy.EveryNode, Precedence: new(int32(10*i + r.IntN(12))), UnhealthyConditions: []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}},
		Action: api.ActionReboot, Mode: api.ModeEnforce, ControlPlane: api.ControlPlane{Fence: new(api.WithQuorum)}, Limits: sampleLimits(r),
	}}
	if i > 0 && r.IntN(2) == 0 {
		p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"role": "x"}}
	}
	return p
}

func sampleLimits(r *rand.Rand) api.Limits {
	l := api.Limits{
		MaxConcurrent: new(int32(1 + r.IntN(4))), PerNode: fencetest.PerDay(1 + r.IntN(4)),
		StormCoolDown: api.DurationOf(time.Duration(r.IntN(3)) * time.Minute),
	}
	switch r.IntN(6) {
	case 0, 1:
		l.MaxUnhealthy = fencetest.Percent(fmt.Sprintf("%d%%", r.IntN(101)))
	case 2:
	default:
		l.MaxUnhealthy = fencetest.Number(r.IntN(7))
	}
	if r.IntN(2) == 0 {
		l.PerDomain = &api.DomainLimits{TopologyKey: fencetest.ZoneKey, MaxUnhealthy: fencetest.Number(r.IntN(5)), MaxConcurrent: new(int32(1 + r.IntN(3)))}
	}
	if r.IntN(3) == 0 {
		l.MaxRate = &api.Rate{Count: int32(1 + r.IntN(3)), Period: *api.DurationOf(time.Duration(1+r.IntN(90)) * time.Minute)}
	}
	return l
}

func sampleBudget(r *rand.Rand) api.FenceBudget {
	b := api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	switch r.IntN(4) {
	case 0:
		b.Spec.MaxUnavailable = fencetest.Number(r.IntN(6))
	case 1:
		b.Spec.MaxUnavailable = fencetest.Percent(fmt.Sprintf("%d%%", r.IntN(101)))
	case 2:
		b.Spec.MinAvailable = fencetest.Number(r.IntN(9))
	default:
		b.Spec.MinAvailable = fencetest.Percent(fmt.Sprintf("%d%%", r.IntN(101)))
	}
	if r.IntN(2) == 0 {
		b.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"role": "x"}}
	}
	return b
}

// copied can be changed without a change to s.
func (s snapshot) copied() snapshot {
	t := s
	t.policies, t.cluster.Budgets = nil, nil
	for _, p := range s.policies {
		t.policies = append(t.policies, *p.DeepCopy())
	}
	for _, b := range s.cluster.Budgets {
		t.cluster.Budgets = append(t.cluster.Budgets, *b.DeepCopy())
	}
	return t
}
