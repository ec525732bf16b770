package fence

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// admitWorld is ten nodes, one of them dead and asking.
func admitWorld(now time.Time) (*api.NodeFence, Cluster, *api.FenceLedger) {
	f := &api.NodeFence{
		ObjectMeta: metav1.ObjectMeta{Name: "n0", UID: "f0"},
		Spec:       api.NodeFenceSpec{NodeName: "n0"},
		Status: api.NodeFenceStatus{Decision: api.Decision{ResolvedPolicy: api.ResolvedPolicy{Settings: api.Settings{PerNode: (*api.PerNode)(nil).Settings()}, Limits: []api.ScopedLimits{{
			Policy: "p", MaxUnhealthy: *number(3), MaxConcurrent: 1, StormCoolDown: metav1.Duration{Duration: time.Minute}}}}}, FenceNumber: 1, Phase: api.Pending},
	}
	c := Cluster{Fences: []api.NodeFence{*f}}
	for i := range 10 {
		c.Nodes = append(c.Nodes, ClusterNode{Name: fmt.Sprintf("n%d", i), Unhealthy: i == 0})
	}
	seen, since := stampOf(now), stampOf(now.Add(-time.Minute))
	l := &api.FenceLedger{Status: api.FenceLedgerStatus{Leases: api.LeasePicture{
		Since: &since, ObservedAt: &seen, Total: 10, Renewal: metav1.Duration{Duration: 10 * time.Second}}}}
	return f, c, l
}

func running(node string, uid types.UID, p api.Phase) api.NodeFence {
	return api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: node, UID: uid},
		Spec: api.NodeFenceSpec{NodeName: node}, Status: api.NodeFenceStatus{FenceNumber: 1, Phase: p}}
}

// restored is a restore that was seen so long before walkStart.
func restored(ago time.Duration) *api.Restored {
	return &api.Restored{SeenAt: stampOf(walkStart.Add(-ago)), From: "1000", To: "600"}
}

func lim(f *api.NodeFence) *api.ScopedLimits { return &f.Status.Decision.Limits[0] }

// zones puts the ten nodes of admitWorld into two zones, n0 to n4 and n5 to n9, and has
// its limits hold in each zone, and no others.
func zones(f *api.NodeFence, c *Cluster) {
	l := lim(f)
	l.PerDomain = &api.ResolvedDomain{TopologyKey: zoneKey, MaxUnhealthy: l.MaxUnhealthy, MaxConcurrent: l.MaxConcurrent}
	l.MaxUnhealthy, l.MaxConcurrent = *percent("100%"), 9
	for i := range c.Nodes {
		c.Nodes[i].Labels = map[string]string{zoneKey: []string{"a", "b"}[i/5]}
	}
}

const zoneKey = "topology.kubernetes.io/zone"

func begun(l *api.FenceLedger, node string, ago time.Duration) {
	l.Status.Admitted = append(l.Status.Admitted, api.Reservation{NodeName: node, FenceUID: types.UID("old-" + node), FenceNumber: 1, At: stampOf(walkStart.Add(-ago))})
}

func budget(c *Cluster, spec api.FenceBudgetSpec) {
	c.Budgets = append(c.Budgets, api.FenceBudget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: spec})
}

// plane makes the first nodes control-plane nodes that run etcd.
func plane(f *api.NodeFence, c *Cluster, healthy ...bool) {
	f.Status.Decision.Settings.ControlPlane.Fence, c.Etcd = api.WithQuorum, map[string]bool{}
	for i, ok := range healthy {
		c.Nodes[i].ControlPlane, c.Etcd[fmt.Sprintf("n%d", i)] = true, ok
	}
}

func reasonOf(v *Verdict) api.Reason {
	if v == nil {
		return ""
	}
	return v.Reason
}

func nodeGone(c *Cluster) {
	c.Nodes = slices.DeleteFunc(c.Nodes, func(n ClusterNode) bool { return n.Name == "n1" })
}

// livePolicy is the one that underPolicy's fence was admitted under, as it stands.
func livePolicy() api.FencePolicy {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1}}
	p.Spec.Selector, p.Spec.Action, p.Spec.Mode = everyNode, api.ActionReboot, api.ModeEnforce
	p.Spec.ControlPlane.Fence = new(api.WithQuorum)
	p.Spec.UnhealthyConditions = []api.UnhealthyCondition{{Type: "Ready", Status: "Unknown"}}
	d, one := func(s int) *api.Duration { return api.DurationOf(time.Duration(s) * time.Second) }, int32(1)
	p.Spec.Power = &api.Power{OffTimeout: d(10), Attempts: &one, RetryInterval: d(1), Restarts: &one}
	p.Spec.Release, p.Spec.Recovery = &api.Release{Timeout: d(50)}, &api.Recovery{BootTimeout: d(70), ReadyDuration: d(3)}
	p.Spec.Limits = api.Limits{MaxUnhealthy: number(3), MaxConcurrent: new(int32(9)), PerNode: perDay(100)}
	return p
}
