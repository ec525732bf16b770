package fence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// budgets: every FenceBudget that selects the node has room for its fence. A
// dead node competes with the fences that run, because its own makes nothing
// worse; a healthy one must find room beside all that is unavailable.
func budgets(f *api.NodeFence, c Cluster, l *api.FenceLedger, _ time.Time) *Verdict {
	labels := c.labels(f.Spec.Node)
	for i := range c.Budgets {
		b := &c.Budgets[i]
		if b.DeletionTimestamp != nil || !Selects(b.Spec.Selector, labels) {
			continue
		}
		s := stateOf(b, f.Spec.Node, c, l)
		if s.fencing >= s.most {
			return &Verdict{api.BudgetHold, fmt.Sprintf("FenceBudget %s: %d of its %d nodes are being fenced, %s", b.Name, s.fencing, s.nodes, s.words), askConcurrent}
		}
		if s.healthy && s.unavailable >= s.room {
			return &Verdict{api.BudgetHold, fmt.Sprintf("FenceBudget %s: this node is healthy, and %d other of its %d nodes are unavailable, %s", b.Name, s.unavailable, s.nodes, s.words), askStorm}
		}
	}
	return nil
}

// setState is a budget's set, seen for one node of it, which is left out of
// fencing and unavailable.
type setState struct {
	nodes, fencing, unavailable int
	healthy                     bool
	// room is how many may be unavailable; most how many may be fenced at once,
	// which is never less than one: else dead nodes were never served.
	room, most int
	words      string
}

func stateOf(b *api.FenceBudget, node string, c Cluster, l *api.FenceLedger) setState {
	var s setState
	lost, slots, chosen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, x := range l.Status.Leases.Still {
		lost[x.Node] = true
	}
	for _, r := range l.Status.Reservations {
		slots[r.Node] = true
	}
	for _, n := range c.Nodes {
		lost[n.Name] = lost[n.Name] || n.Unhealthy
		if chosen[n.Name] = Selects(b.Spec.Selector, n.Labels); chosen[n.Name] && n.Name == node {
			s.healthy = !lost[node]
		}
	}
	// A fence that only waits takes nothing: two that wait would wait for each other.
	for i := range c.Fences {
		if f := &c.Fences[i]; underWay(f, l) {
			lost[f.Spec.Node] = true
			chosen[f.Spec.Node] = chosen[f.Spec.Node] || chose(b, f, c, l)
		}
	}
	for name, is := range chosen {
		if is {
			s.nodes++
		}
		if is && name != node && lost[name] {
			s.unavailable++
		}
		if is && name != node && slots[name] {
			s.fencing++
		}
	}
	s.room, s.words = roomOf(b, s.nodes)
	s.most = max(1, s.room)
	return s
}

// roomOf is how many of so many nodes may be unavailable. What can't be read
// allows none, and the API server refuses it anyway.
func roomOf(b *api.FenceBudget, nodes int) (int, string) {
	if m := b.Spec.MinAvailable; m != nil {
		least, err := intstr.GetScaledValueFromIntOrPercent(m, nodes, true)
		if err != nil {
			return 0, "minAvailable can't be read"
		}
		return max(0, nodes-least), fmt.Sprintf("minAvailable is %s (%d)", m.String(), least)
	}
	m := b.Spec.MaxUnavailable
	if m == nil {
		return 0, "it sets no limit"
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(m, nodes, false)
	if err != nil {
		return 0, "maxUnavailable can't be read"
	}
	return max(1, most), fmt.Sprintf("maxUnavailable is %s (%d)", m.String(), max(1, most))
}

// BudgetStatus is what a budget shows of its set.
func BudgetStatus(b *api.FenceBudget, c Cluster, l *api.FenceLedger) api.FenceBudgetStatus {
	s := stateOf(b, "", c, l)
	return api.FenceBudgetStatus{
		Nodes: int32(s.nodes), Available: int32(s.nodes - s.unavailable), Fencing: int32(s.fencing),
		Allowed: int32(max(0, s.room-s.unavailable)), ObservedGeneration: b.Generation,
	}
}

// quorum: a control-plane node is fenced only where the policy says so, one at a
// time, and while etcd keeps its quorum without it. What can't be learnt means
// no (S13).
func quorum(f *api.NodeFence, c Cluster, l *api.FenceLedger, _ time.Time) *Verdict {
	planes := map[string]bool{}
	for _, n := range c.Nodes {
		planes[n.Name] = n.ControlPlane
	}
	_, isMember := c.Etcd[f.Spec.Node]
	if !planes[f.Spec.Node] && !isMember {
		return nil
	}
	no := func(format string, args ...any) *Verdict {
		return &Verdict{api.QuorumHold, fmt.Sprintf(format, args...), askStorm}
	}
	if f.Spec.Policy.ControlPlane != api.Quorum && !planes[f.Spec.Node] {
		return &Verdict{api.ControlPlaneHold, "etcd runs on this node, as a policy's spec.etcd says, and policy " + f.Spec.Policy.Name + " never fences those (controlPlane: Never)", Resync}
	}
	if f.Spec.Policy.ControlPlane != api.Quorum {
		return &Verdict{api.ControlPlaneHold, "policy " + f.Spec.Policy.Name + " never fences control-plane nodes (controlPlane: Never)", Resync}
	}
	for i := range c.Fences {
		o := &c.Fences[i]
		other := o.Spec.Node != f.Spec.Node && acts(o, l)
		if other && (planes[o.Spec.Node] || has(c.Etcd, o.Spec.Node) || wasPlane(o, c, l)) {
			return no("control-plane node %s is under a fence: one at a time", o.Spec.Node)
		}
	}
	if len(c.Etcd) == 0 {
		return no("etcd's members could not be learnt from the static pods of kube-system: list their nodes under spec.etcd")
	}
	healthy, lost := wellWithout(f.Spec.Node, c, l)
	if need := len(c.Etcd)/2 + 1; isMember && healthy < need {
		down, mend := "", ""
		if len(lost) > 0 {
			down = " (not " + strings.Join(lost, "; ") + ")"
		}
		for m := range c.EtcdFrom {
			if m != f.Spec.Node {
				mend = ": if one of them has left etcd for good, list the nodes of all other members in spec.etcd of policy " + f.Spec.Policy.Name
			}
		}
		return no("etcd has %d members, %d of them healthy without this one%s, and needs %d%s", len(c.Etcd), healthy, down, need, mend)
	}
	return nil
}

// wellWithout counts etcd's members without one of them. A node shows as Ready until
// its grace period is over: one whose Lease stands still, or that is to be fenced
// itself, may be lost by now, and is not relied on (S13, S15).
func wellWithout(node string, c Cluster, l *api.FenceLedger) (healthy int, lost []string) {
	still := map[string]bool{}
	for _, s := range l.Status.Leases.Still {
		still[s.Node] = true
	}
	bad := ailing(c, l)
	for m, ok := range c.Etcd {
		switch {
		case m == node:
		case !ok && c.EtcdFrom[m] != "":
			lost = append(lost, m+": "+c.EtcdFrom[m])
		case !ok:
			lost = append(lost, m)
		case still[m]:
			lost = append(lost, m+": its Lease stands still")
		case bad[m]:
			lost = append(lost, m+": its own fence is open")
		default:
			healthy++
		}
	}
	slices.Sort(lost)
	return healthy, lost
}

func has(m map[string]bool, k string) bool { _, ok := m[k]; return ok }
