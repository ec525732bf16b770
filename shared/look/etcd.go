package look

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// EtcdPods reads the pods in which etcd's members run.
type EtcdPods interface {
	EtcdPods(ctx context.Context) ([]corev1.Pod, error)
}

// Etcd returns the state of etcd's members: those of the static pods of kube-system, and
// the nodes that the present policy lists. A list only adds members. So an outdated list
// counts too many members as lost, and never too few (S13: never etcd's quorum). For each
// member that is not well, Etcd says why it counts as a member. The pods are read only
// under the rule of quorum, where they decide. Without that rule, a node that any policy
// lists is a member, and is not fenced.
func Etcd(ctx context.Context, c EtcdPods, f *api.NodeFence, nodes []corev1.Node, policies []api.FencePolicy) (members map[string]bool, from map[string]string, err error) {
	if f.Status.Decision.Settings.ControlPlane.Fence != api.WithQuorum {
		members = map[string]bool{}
		for i := range policies {
			for _, node := range policies[i].Spec.ControlPlane.EtcdNodeNames {
				members[node] = false
			}
		}
		return members, nil, nil
	}
	listed := f.Status.Decision.Settings.ControlPlane.EtcdNodeNames
	for i := range policies {
		if policies[i].Name == f.Status.Decision.Policy.Name {
			listed = policies[i].Spec.ControlPlane.EtcdNodeNames
		}
	}
	if members, from, err = ObservedEtcd(ctx, c, nodes, listed); err != nil {
		return nil, nil, err
	}
	if len(listed) > 0 {
		members, from = withListed(members, from, listed, readyNodes(nodes))
	}
	return members, from, nil
}

// ObservedEtcd returns whether each member of etcd that the static pods show is healthy,
// and why the others count as members; nil if there is no such pod. A pod counts as healthy only
// on a node that is listed, or that has a role that kubelets cannot write.
func ObservedEtcd(ctx context.Context, c EtcdPods, nodes []corev1.Node, listed []string) (members map[string]bool, from map[string]string, err error) {
	pods, err := c.EtcdPods(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read etcd's pods: %w", err)
	}
	members, from = etcdMembers(pods, ClusterNodes(nodes), readyNodes(nodes), easingNodes(nodes, listed))
	return members, from, nil
}

// easingNodes are the nodes whose pods may count as healthy members.
func easingNodes(nodes []corev1.Node, listed []string) map[string]bool {
	may := map[string]bool{}
	for i := range nodes {
		may[nodes[i].Name] = mayEase(&nodes[i]) || slices.Contains(listed, nodes[i].Name)
	}
	return may
}

func readyNodes(nodes []corev1.Node) map[string]bool {
	ready := map[string]bool{}
	for i := range nodes {
		ready[nodes[i].Name] = NodeFrom(&nodes[i], "").Ready()
	}
	return ready
}

// withListed adds the nodes that a policy lists to the observed members. A member that only
// one of the two knows counts as not healthy, except a listed node that is Ready.
func withListed(members map[string]bool, from map[string]string, listed []string, ready map[string]bool) (map[string]bool, map[string]string) {
	if members == nil {
		members, from = map[string]bool{}, map[string]string{}
	}
	for _, node := range admission.Unlisted(slices.Collect(maps.Keys(members)), listed) {
		members[node] = false
		if from[node] == "" {
			from[node] = "it runs a pod of etcd"
		}
		from[node] += ", and it is not listed in spec.controlPlane.etcdNodeNames"
	}
	for _, node := range listed {
		if _, observed := members[node]; observed {
			continue
		}
		if members[node] = ready[node]; !ready[node] {
			from[node] = "listed in spec.controlPlane.etcdNodeNames, " + ofNode(node, ready)
		}
	}
	return members, from
}

// etcdLists returns the nodes that other policies list. Etcd handles the fence's own list.
func etcdLists(f *api.NodeFence, policies []api.FencePolicy) map[string][]string {
	all := map[string][]string{}
	for i := range policies {
		if p := &policies[i]; p.Name != f.Status.Decision.Policy.Name && len(p.Spec.ControlPlane.EtcdNodeNames) > 0 {
			all[p.Name] = p.Spec.ControlPlane.EtcdNodeNames
		}
	}
	return all
}

// ofNode describes a node that is not Ready.
func ofNode(node string, ready map[string]bool) string {
	if _, there := ready[node]; !there {
		return "there is no such Node"
	}
	return "its Node is not Ready"
}

// etcdMembers returns the members that the static pods show, and why each member that is
// not healthy counts as one. A member is healthy if its node and its pod are seen Ready, and the
// node may ease a decision: a kubelet may create a mirror pod with any label and name on its own
// node, and a backup's pod may have etcd's label. Any other pod adds a member that is lost. A deleted Node object takes its pod along, but not the member. So a node counts as a member
// that is not healthy if another pod's --initial-cluster names it, or if it is a
// control-plane node beside others that run etcd (S13). Only etcd knows whether such a
// member has left: the flag is from the time at which its pod's member joined, and after an
// upgrade not even from then. Without any pod, nothing is known.
func etcdMembers(pods []corev1.Pod, nodes []admission.Node, ready, easing map[string]bool) (members map[string]bool, from map[string]string) {
	o := etcdObserved{members: map[string]bool{}, from: map[string]string{}, nodeOf: map[string]string{}, namedBy: map[string]string{}}
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			o.addPod(&pods[i], ready, easing)
		}
	}
	if len(o.members) == 0 {
		return nil, nil
	}
	for name, pod := range o.namedBy {
		if o.nodeOf[name] == "" && name != "" {
			o.addUnseen(name, "named in --initial-cluster of pod "+pod+", and no pod of it is there")
		}
	}
	for _, n := range nodes {
		if n.ControlPlane && n.Name != "" {
			o.addUnseen(n.Name, "a control-plane node without a pod of etcd")
		}
	}
	return o.members, o.from
}

// etcdObserved collects the members.
type etcdObserved struct {
	// members has each member's health, and from has the reason why a member that is not
	// healthy counts.
	members map[string]bool
	from    map[string]string
	// nodeOf has the node of each member's name; namedBy has the pod whose
	// --initial-cluster has that name.
	nodeOf, namedBy map[string]string
}

// addPod adds the member of a pod on a node, and the members that its flags name. Only a pod on a
// node that may ease a decision says which member it is: otherwise a pod could take the name of a
// member that is lost.
func (o *etcdObserved) addPod(p *corev1.Pod, ready, easing map[string]bool) {
	node := p.Spec.NodeName
	before, twice := o.members[node]
	o.members[node] = ready[node] && podReady(p) && easing[node] && (before || !twice)
	switch {
	case !ready[node]:
		o.from[node] = "pod " + p.Name + " is bound to it, " + ofNode(node, ready)
	case !podReady(p):
		o.from[node] = "its pod " + p.Name + " is not Ready"
	case !easing[node]:
		o.from[node] = "pod " + p.Name + " is bound to it, and it has neither a label " + api.ControlPlaneLabel + ", master, etcd or controlplane, nor is it listed in spec.controlPlane.etcdNodeNames"
	}
	for flag, value := range flags(p) {
		switch {
		case flag == "name" && easing[node]:
			o.nodeOf[value] = node
		case flag == "initial-cluster":
			for m := range strings.SplitSeq(value, ",") {
				name, _, _ := strings.Cut(m, "=")
				o.namedBy[strings.TrimSpace(name)] = p.Name
			}
		}
	}
}

// addUnseen adds a member that no pod shows, unless it was added before.
func (o *etcdObserved) addUnseen(member, words string) {
	if _, seen := o.members[member]; !seen {
		o.members[member], o.from[member] = false, words
	}
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// flags returns the flags with which a pod's containers are started, written as
// --flag=value or --flag value.
func flags(p *corev1.Pod) map[string]string {
	all, last := map[string]string{}, ""
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		for _, word := range strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " ")) {
			if !strings.HasPrefix(word, "-") {
				if all[last] == "" {
					all[last] = strings.Trim(word, `"'`)
				}
				continue
			}
			flag, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
			last, all[flag] = flag, strings.Trim(value, `"'`)
		}
	}
	return all
}
