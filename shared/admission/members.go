package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// isMember tells whether etcd runs on a node, as far as anybody says.
func (c Picture) isMember(node string) bool {
	return has(c.Etcd, node) || len(c.listsOf(node)) > 0
}

// listsOf are those of other policies that have the node.
func (c Picture) listsOf(node string) (all []members) {
	for _, policy := range slices.Sorted(maps.Keys(c.EtcdLists)) {
		if !slices.Contains(c.EtcdLists[policy], node) {
			continue
		}
		m := members{policy, map[string]bool{}, map[string]string{}}
		for _, n := range c.EtcdLists[policy] {
			if m.healthy[n] = c.has(n) && !c.node(n).Unhealthy; !m.healthy[n] {
				m.from[n] = "listed in spec.controlPlane.etcdNodeNames of policy " + policy + ", and no Ready Node"
			}
		}
		all = append(all, m)
	}
	return all
}

func has(m map[string]bool, k string) bool { _, ok := m[k]; return ok }

// members are those of one etcd, whether they are healthy, and by what those that are not
// are known. The policy is where they are listed, or would be.
type members struct {
	policy  string
	healthy map[string]bool
	from    map[string]string
}

// without says why etcd would lose its quorum without this fence's node; empty if not.
func (m members) without(f *api.NodeFence, c Picture, l *api.FenceLedger) string {
	healthy, lost := m.wellWithout(f, c, l)
	need := len(m.healthy)/2 + 1
	if healthy >= need {
		return ""
	}
	down, mend := "", ""
	if len(lost) > 0 {
		down = " (not " + strings.Join(lost, "; ") + ")"
	}
	for n := range m.from {
		if n != f.Spec.NodeName {
			mend = ": if one of them has left etcd for good, take it out of spec.controlPlane.etcdNodeNames of policy " + m.policy + " and of --initial-cluster in the manifests of etcd, and delete its Node and its pod; a member that is not listed beside others is to be listed"
		}
	}
	return fmt.Sprintf("etcd has %d members, %d of them healthy without this one%s, and needs %d%s", len(m.healthy), healthy, down, need, mend)
}

// wellWithout counts etcd's members without one of them. A node shows as Ready until
// its grace period is over: one whose Lease stands still, or that is to be fenced
// itself, may be lost by now, and is not relied on (S13, S15).
func (m members) wellWithout(f *api.NodeFence, c Picture, l *api.FenceLedger) (healthy int, lost []string) {
	still, bad := stillIn(l.Status.Leases, c), ailing(c, l)
	for n, ok := range m.healthy {
		switch {
		case n == f.Spec.NodeName:
		case !ok && m.from[n] != "":
			lost = append(lost, n+": "+m.from[n])
		case !ok:
			lost = append(lost, n)
		case still[n]:
			lost = append(lost, n+": its Lease stands still")
		case bad[n] && !c.waitsBehind(n, f, l):
			lost = append(lost, n+": its own fence is open")
		default:
			healthy++
		}
	}
	slices.Sort(lost)
	return healthy, lost
}

// waitsBehind: a healthy node's own fence was only asked for, and goes after this one. Of two that
// are asked for at once each would otherwise hold the other until both requests are too old. One
// that has touched nothing goes after one whose node was drained, and else by the nodes' names.
// One that only drains its node goes after that of a node that has failed. Who goes later still
// counts the other, and they go one at a time.
func (c Picture) waitsBehind(node string, f *api.NodeFence, l *api.FenceLedger) bool {
	o := c.fence(node)
	if o == nil || !o.Status.Decision.Trigger.Asked() || c.node(node).Unhealthy {
		return false
	}
	untouched := o.CurrentPhase() == api.Pending && !underWay(o, l)
	return untouched && (f.Spec.NodeName < node || drained(&f.Status)) || onlyDrains(o, l) && c.failed(f.Spec.NodeName, l)
}
