package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// quorum: a control-plane node is fenced only where the policy says so, one at a
// time, and while etcd keeps its quorum without it. What can't be learnt means
// no (S13). A node that another policy lists as etcd's is one, and each list that has
// it must keep its quorum.
func quorum(f *api.NodeFence, c Picture, l *api.FenceLedger, _ time.Time) *observed.Verdict {
	planes := map[string]bool{}
	for _, n := range c.Nodes {
		planes[n.Name] = n.ControlPlane
	}
	if f.Status.Decision.Settings.ControlPlane.SelectedBy != "" {
		planes[f.Spec.NodeName] = true
	}
	if !planes[f.Spec.NodeName] && !c.isMember(f.Spec.NodeName) {
		return nil
	}
	if v := planeNeverFenced(f, planes[f.Spec.NodeName]); v != nil {
		return v
	}
	if v := otherPlaneFenced(f, c, l, planes); v != nil {
		return v
	}
	return quorumLost(f, c, l)
}

// planeNeverFenced: the fence's policy never fences the control plane, nor etcd's nodes.
func planeNeverFenced(f *api.NodeFence, plane bool) *observed.Verdict {
	switch name := f.Status.Decision.Policy.Name; {
	case f.Status.Decision.Settings.ControlPlane.Fence == api.WithQuorum:
		return nil
	case !plane:
		return refuse(api.ControlPlaneNode, "etcd runs on this node, as a policy's spec.controlPlane.etcdNodeNames says, and policy "+name+" never fences those (controlPlane.fence: Never)", facts.Resync)
	default:
		return refuse(api.ControlPlaneNode, "policy "+name+" never fences control-plane nodes (controlPlane.fence: Never)", facts.Resync)
	}
}

// otherPlaneFenced: another node of the control plane is under a fence. One that is only drained
// runs its etcd: it does not hold the fence of a node that has failed, and itself waits for that
// fence once it is empty.
func otherPlaneFenced(f *api.NodeFence, c Picture, l *api.FenceLedger, planes map[string]bool) *observed.Verdict {
	for i := range c.Fences {
		o := &c.Fences[i]
		other := o.Spec.NodeName != f.Spec.NodeName && acts(o, l) && !(onlyDrains(o, l) && c.failed(f.Spec.NodeName, l))
		if other && (planes[o.Spec.NodeName] || c.isMember(o.Spec.NodeName) || wasPlane(o, c, l)) {
			return refuse(api.EtcdQuorum, fmt.Sprintf("control-plane node %s is under a fence: one at a time", o.Spec.NodeName), askStorm)
		}
	}
	return nil
}

// failed: the node is not there, not Ready, or its Lease stands still.
func (c Picture) failed(node string, l *api.FenceLedger) bool {
	return !c.hasNode(node) || c.node(node).Unhealthy || stillIn(l.Status.Leases, c)[node]
}

// quorumLost: etcd would lose its quorum without this node, by its observed members or by
// a list that has the node, or nobody knows its members.
func quorumLost(f *api.NodeFence, c Picture, l *api.FenceLedger) *observed.Verdict {
	if c.EtcdUnread {
		return refuse(api.EtcdQuorum, "etcd's pods in kube-system could not be read: nobody knows who is a member", askStorm)
	}
	lists := c.listsOf(f.Spec.NodeName)
	if len(c.Etcd) == 0 && len(lists) == 0 {
		return refuse(api.EtcdQuorum, "etcd's members could not be learnt from the static pods of kube-system: list their nodes under spec.controlPlane.etcdNodeNames", askStorm)
	}
	if has(c.Etcd, f.Spec.NodeName) {
		lists = append([]members{{f.Status.Decision.Policy.Name, c.Etcd, c.EtcdFrom}}, lists...)
	}
	for _, m := range lists {
		if words := m.without(f, c, l); words != "" {
			return refuse(api.EtcdQuorum, words, askStorm)
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

// ReadAnew is what was read of etcd's members, after the ledger, for one fence that is decided on
// by the census. For a node that is no member and not of the control plane Etcd is enough.
type ReadAnew struct {
	Etcd EtcdObserved
	// Nodes has, by name, the nodes of the members and of the control plane; nil for one that
	// has no Node object.
	Nodes map[string]*Node
	// Fences are those of these nodes.
	Fences []*api.NodeFence
}

// with are the nodes that were read, with that of the fence itself; nil for one that is not there.
func (r *ReadAnew) with(name string, n observed.Node) map[string]*Node {
	read := map[string]*Node{}
	maps.Copy(read, r.Nodes)
	read[name] = nil
	if n.Exists {
		read[name] = &Node{Name: name, UID: n.UID, Labels: n.Labels, Unhealthy: !n.Ready(), ControlPlane: n.ControlPlane, Plans: n.Plans}
	}
	return read
}
