package fencetest

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// World is ten nodes, one of them dead and asking.
func World(now time.Time) (*api.NodeFence, admission.Picture, *api.FenceLedger) {
	f := &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "n0", UID: "f0"},
		Spec:       api.NodeFenceSpec{NodeName: "n0"},
		Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{PerNode: (*api.PerNode)(nil).Settings()}, Limits: []api.ScopedLimits{{
			Policy: "p", MaxUnhealthy: *Number(3), MaxConcurrent: 1, StormCoolDown: metav1.Duration{Duration: time.Minute}}}}}, FenceNumber: 1, Phase: api.Pending},
	}
	c := admission.Picture{Fences: []api.NodeFence{*f}}
	for i := range 10 {
		name := fmt.Sprintf("n%d", i)
		c.Nodes = append(c.Nodes, admission.Node{Name: name, Unhealthy: i == 0, Identity: policy.NodeIdentity{Name: name}})
	}
	seen, since := observed.StampOf(now), observed.StampOf(now.Add(-time.Minute))
	l := &api.FenceLedger{Status: api.FenceLedgerStatus{Leases: api.LeasePicture{
		Since: &since, ObservedAt: &seen, Total: 10, Renewal: metav1.Duration{Duration: 10 * time.Second}}}}
	return f, c, l
}

// Running is the fence of a node in a phase.
func Running(node string, uid types.UID, p api.Phase) api.NodeFence {
	return api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: uid},
		Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{FenceNumber: 1, Phase: p}}
}

// Restored is a restore that was seen so long before Start.
func Restored(ago time.Duration) *api.Restored {
	return &api.Restored{SeenAt: observed.StampOf(Start.Add(-ago)), From: "1000", To: "600"}
}

// Limits are those of the first policy whose limits hold for a fence.
func Limits(f *api.NodeFence) *api.ScopedLimits { return &f.Status.Decision.Limits[0] }

// Zones puts the ten nodes of World into two zones, n0 to n4 and n5 to n9, and has
// its limits hold in each zone, and no others.
func Zones(f *api.NodeFence, c *admission.Picture) {
	l := Limits(f)
	l.PerDomain = &api.ResolvedDomain{TopologyKey: ZoneKey, MaxUnhealthy: l.MaxUnhealthy, MaxConcurrent: l.MaxConcurrent}
	l.MaxUnhealthy, l.MaxConcurrent = *Percent("100%"), 9
	for i := range c.Nodes {
		c.Nodes[i].Labels = map[string]string{ZoneKey: []string{"a", "b"}[i/5]}
	}
}

// ZoneKey is the label that tells zones apart.
const ZoneKey = "topology.kubernetes.io/zone"

// Admitted has the ledger remember a fence that began so long before Start.
func Admitted(l *api.FenceLedger, node string, ago time.Duration) {
	l.Status.Admitted = append(l.Status.Admitted, api.Reservation{NodeName: node, FenceUID: types.UID("old-" + node), FenceNumber: 1, At: observed.StampOf(Start.Add(-ago))})
}

// Budget adds a FenceBudget to the picture.
func Budget(c *admission.Picture, spec api.FenceBudgetSpec) {
	c.Budgets = append(c.Budgets, api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: spec})
}

// ControlPlane makes the first nodes control-plane nodes that run etcd.
func ControlPlane(f *api.NodeFence, c *admission.Picture, healthy ...bool) {
	f.Status.Decision.Settings.ControlPlane.Fence, c.Etcd = api.WithQuorum, map[string]bool{}
	for i, ok := range healthy {
		c.Nodes[i].ControlPlane, c.Etcd[fmt.Sprintf("n%d", i)] = true, ok
	}
}

// ReasonOf is why a fence does not begin; empty if it does.
func ReasonOf(v *observed.Verdict) api.Reason {
	if v == nil {
		return ""
	}
	return v.Reason
}

// NodeGone takes the Node object of n1 out of the picture.
func NodeGone(c *admission.Picture) {
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n admission.Node) bool { return n.Name == "n1" })
}

// LivePolicy is the one that underPolicy's fence was admitted under, as it stands.
func LivePolicy() api.FencePolicy {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}}
	p.Spec.Selector, p.Spec.Action, p.Spec.Mode = policy.EveryNode, api.ActionReboot, api.ModeEnforce
	p.Spec.ControlPlane.Fence = new(api.WithQuorum)
	p.Spec.UnhealthyConditions = []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}
	d, one := func(s int) *api.Duration { return api.DurationOf(time.Duration(s) * time.Second) }, int32(1)
	p.Spec.Power = &api.Power{OffTimeout: d(10), Attempts: &one, RetryInterval: d(1), Restarts: &one}
	p.Spec.Release, p.Spec.Recovery = &api.Release{Timeout: d(50)}, &api.Recovery{BootTimeout: d(70), ReadyDuration: d(3)}
	p.Spec.Limits = api.Limits{MaxUnhealthy: Number(3), MaxConcurrent: new(int32(9)), PerNode: PerDay(100)}
	return p
}
