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

// EtcdPods reads the pods that etcd's members run as.
type EtcdPods interface {
	EtcdPods(ctx context.Context) ([]corev1.Pod, error)
}

// Etcd is how etcd's members stand: those of the static pods of kube-system, and the nodes
// that the policy lists, as it stands. A list adds to what is observed and replaces none of
// it: one that is out of date counts more members as lost, and never fewer (S13). Of those
// that are not well it says by what they are known. The pods are read only where
// they decide, which is under the rule of quorum; without it, whoever is listed by any
// policy is a member, and left alone.
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
	if members, from, err = ObservedEtcd(ctx, c, nodes); err != nil {
		return nil, nil, err
	}
	if len(listed) > 0 {
		members, from = withListed(members, from, listed, readyNodes(nodes))
	}
	return members, from, nil
}

// ObservedEtcd is how those members of etcd stand that its static pods show, and by what
// the others are known; nil if there is no such pod.
func ObservedEtcd(ctx context.Context, c EtcdPods, nodes []corev1.Node) (members map[string]bool, from map[string]string, err error) {
	pods, err := c.EtcdPods(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read etcd's pods: %w", err)
	}
	members, from = etcdMembers(pods, ClusterNodes(nodes), readyNodes(nodes))
	return members, from, nil
}

func readyNodes(nodes []corev1.Node) map[string]bool {
	ready := map[string]bool{}
	for i := range nodes {
		ready[nodes[i].Name] = NodeFrom(&nodes[i], "").Ready()
	}
	return ready
}

// withListed adds the nodes that a policy lists to the members that were observed. One
// that only one of the two knows of is a member that is not relied on, except a listed
// node that is Ready.
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

// etcdLists are the nodes that other policies list. The fence's own list is in etcd's.
func etcdLists(f *api.NodeFence, policies []api.FencePolicy) map[string][]string {
	all := map[string][]string{}
	for i := range policies {
		if p := &policies[i]; p.Name != f.Status.Decision.Policy.Name && len(p.Spec.ControlPlane.EtcdNodeNames) > 0 {
			all[p.Name] = p.Spec.ControlPlane.EtcdNodeNames
		}
	}
	return all
}

// ofNode says of a node that is not Ready what is known of it.
func ofNode(node string, ready map[string]bool) string {
	if _, there := ready[node]; !there {
		return "there is no such Node"
	}
	return "its Node is not Ready"
}

// etcdMembers are the members that the static pods show, and by what those that are not
// healthy are known. One is healthy if its node and its pod are seen Ready. A pod goes
// with its Node object and the member does not: who is named in another's
// --initial-cluster, or is a control-plane node beside others that run etcd, is a member
// too, and not a healthy one (S13). Whether it has left etcd since only etcd knows: the
// flag tells of the time at which its pod's member joined, and of an upgrade not even
// that. No pod at all is no knowledge.
func etcdMembers(pods []corev1.Pod, nodes []admission.Node, ready map[string]bool) (members map[string]bool, from map[string]string) {
	o := etcdObserved{members: map[string]bool{}, from: map[string]string{}, nodeOf: map[string]string{}, namedBy: map[string]string{}}
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			o.addPod(&pods[i], ready)
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
	// members tells whether each is healthy, and from by what one that is not is known.
	members map[string]bool
	from    map[string]string
	// nodeOf is the node of each member's name, and namedBy the pod whose
	// --initial-cluster has that name.
	nodeOf, namedBy map[string]string
}

// addPod adds the member that a pod on a node shows, and those that its flags name.
func (o *etcdObserved) addPod(p *corev1.Pod, ready map[string]bool) {
	node := p.Spec.NodeName
	before, twice := o.members[node]
	o.members[node] = ready[node] && podReady(p) && (before || !twice)
	switch {
	case !ready[node]:
		o.from[node] = "pod " + p.Name + " is bound to it, " + ofNode(node, ready)
	case !podReady(p):
		o.from[node] = "its pod " + p.Name + " is not Ready"
	}
	for flag, value := range flags(p) {
		switch flag {
		case "name":
			o.nodeOf[value] = node
		case "initial-cluster":
			for m := range strings.SplitSeq(value, ",") {
				name, _, _ := strings.Cut(m, "=")
				o.namedBy[strings.TrimSpace(name)] = p.Name
			}
		}
	}
}

// addUnseen adds a member that no pod shows, unless one does.
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

// flags are the flags that a pod's containers are started with, written as --flag=value
// or --flag value.
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
