package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// quorum: a control-plane node is fenced only where the policy says so, one at a
// time, and while etcd keeps its quorum without it. What can't be learnt means
// no (S13). A node that another policy lists as etcd's is one, and each list that has
// it must keep its quorum.
func quorum(f *api.NodeFence, c Picture, l *api.FenceLedger, _ time.Time) *fence.Verdict {
	planes := map[string]bool{}
	for _, n := range c.Nodes {
		planes[n.Name] = n.ControlPlane
	}
	if !planes[f.Spec.NodeName] && !c.isMember(f.Spec.NodeName) {
		return nil
	}
	if f.Status.Decision.Settings.ControlPlane.Fence != api.WithQuorum && !planes[f.Spec.NodeName] {
		return hold(api.ControlPlaneNode, "etcd runs on this node, as a policy's spec.controlPlane.etcdNodeNames says, and policy "+f.Status.Decision.Policy.Name+" never fences those (controlPlane.fence: Never)", fence.Resync)
	}
	if f.Status.Decision.Settings.ControlPlane.Fence != api.WithQuorum {
		return hold(api.ControlPlaneNode, "policy "+f.Status.Decision.Policy.Name+" never fences control-plane nodes (controlPlane.fence: Never)", fence.Resync)
	}
	for i := range c.Fences {
		o := &c.Fences[i]
		other := o.Spec.NodeName != f.Spec.NodeName && acts(o, l)
		if other && (planes[o.Spec.NodeName] || c.isMember(o.Spec.NodeName) || wasPlane(o, c, l)) {
			return hold(api.EtcdQuorum, fmt.Sprintf("control-plane node %s is under a fence: one at a time", o.Spec.NodeName), askStorm)
		}
	}
	if c.EtcdUnread {
		return hold(api.EtcdQuorum, "etcd's pods in kube-system could not be read: nobody knows who is a member", askStorm)
	}
	lists := c.listsOf(f.Spec.NodeName)
	if len(c.Etcd) == 0 && len(lists) == 0 {
		return hold(api.EtcdQuorum, "etcd's members could not be learnt from the static pods of kube-system: list their nodes under spec.controlPlane.etcdNodeNames", askStorm)
	}
	if has(c.Etcd, f.Spec.NodeName) {
		lists = append([]members{{f.Status.Decision.Policy.Name, c.Etcd, c.EtcdFrom}}, lists...)
	}
	for _, m := range lists {
		if words := m.without(f, c, l); words != "" {
			return hold(api.EtcdQuorum, words, askStorm)
		}
	}
	return nil
}

// Unlisted are the observed members of etcd that a policy's list lacks.
func Unlisted(observed, listed []string) []string {
	return slices.DeleteFunc(slices.Clone(observed), func(m string) bool { return slices.Contains(listed, m) })
}

// etcdListWords say where a policy's list of etcd's nodes and the observed members differ,
// with both; empty if they don't, or it lists none. Whom only one of the two knows of is a
// member that is not relied on (S13).
func etcdListWords(p *api.FencePolicy, c Picture) string {
	listed := p.Spec.ControlPlane.EtcdNodeNames
	unlisted, gone := Unlisted(c.EtcdSeen, listed), slices.DeleteFunc(slices.Clone(listed), c.hasNode)
	if len(listed) == 0 || len(unlisted)+len(gone) == 0 {
		return ""
	}
	var apart []string
	if len(unlisted) > 0 {
		apart = append(apart, "observed and not listed: "+namesOf(knownBy(unlisted, c.EtcdSeenBy)))
	}
	if len(gone) > 0 {
		apart = append(apart, "listed and no Node: "+namesOf(gone))
	}
	return fmt.Sprintf("spec.controlPlane.etcdNodeNames and etcd's observed members differ (%s); listed are %s; observed are %s",
		strings.Join(apart, "; "), namesOf(listed), namesOf(c.EtcdSeen))
}

// knownBy says of each by what it is known, where no healthy pod of etcd shows it.
func knownBy(nodes []string, by map[string]string) (all []string) {
	for _, n := range nodes {
		if why := by[n]; why != "" {
			n += " (" + why + ")"
		}
		all = append(all, n)
	}
	return all
}

func namesOf(nodes []string) string {
	if len(nodes) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(nodes)), ", ")
}

// members are those of one etcd, whether they are healthy, and by what those that are not
// are known. The policy is where they are listed, or would be.
type members struct {
	policy  string
	healthy map[string]bool
	from    map[string]string
}

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

// waitsBehind: a healthy node's own fence was only asked for, has touched nothing, and goes
// after this one, by the nodes' names. Of two that are asked for at once each would
// otherwise hold the other until both requests are too old. The second one still counts
// the first, and they go one at a time.
func (c Picture) waitsBehind(node string, f *api.NodeFence, l *api.FenceLedger) bool {
	o := c.fence(node)
	return o != nil && f.Spec.NodeName < node && o.Status.Decision.Trigger.Asked() &&
		o.CurrentPhase() == api.Pending && !underWay(o, l) && !c.node(node).Unhealthy
}

func has(m map[string]bool, k string) bool { _, ok := m[k]; return ok }
