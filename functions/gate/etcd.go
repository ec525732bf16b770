package gate

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// etcd is how etcd's members stand: the listed nodes, or those of the static
// pods of kube-system. It is read only where it decides, which is under the rule of
// quorum.
func (g *Gate) etcd(ctx context.Context, f *api.NodeFence, nodes []corev1.Node) (map[string]bool, error) {
	if f.Spec.Policy.ControlPlane != api.Quorum {
		return nil, nil
	}
	ready := map[string]bool{}
	for i := range nodes {
		ready[nodes[i].Name] = kube.NodeSeen(&nodes[i], "").Ready()
	}
	if listed := f.Spec.Policy.Etcd; len(listed) > 0 {
		members := map[string]bool{}
		for _, node := range listed {
			members[node] = ready[node]
		}
		return members, nil
	}
	pods, err := g.Client.EtcdPods(ctx)
	if err != nil {
		return nil, err
	}
	return etcdMembers(pods, kube.ClusterNodes(nodes), ready), nil
}

// etcdMembers are the members that the static pods show. One is healthy if its node
// and its pod are seen Ready. A pod goes with its Node object and the member does
// not: who is named in another's --initial-cluster, or is a control-plane node beside
// others that run etcd, is a member too, and not a healthy one (S13). No pod at all is
// no knowledge.
func etcdMembers(pods []corev1.Pod, nodes []fence.ClusterNode, ready map[string]bool) map[string]bool {
	members, nodeOf, named := map[string]bool{}, map[string]string{}, map[string]bool{}
	for i := range pods {
		p := &pods[i]
		node := p.Spec.NodeName
		if node == "" {
			continue
		}
		before, twice := members[node]
		members[node] = ready[node] && podReady(p) && (before || !twice)
		for flag, value := range flags(p) {
			switch flag {
			case "name":
				nodeOf[value] = node
			case "initial-cluster":
				for m := range strings.SplitSeq(value, ",") {
					name, _, _ := strings.Cut(m, "=")
					named[strings.TrimSpace(name)] = true
				}
			}
		}
	}
	if len(members) == 0 {
		return nil
	}
	unseen := map[string]bool{}
	for _, n := range nodes {
		unseen[n.Name] = n.ControlPlane
	}
	for name := range named {
		unseen[name] = unseen[name] || nodeOf[name] == "" && name != ""
	}
	for m, isMember := range unseen {
		if _, seen := members[m]; isMember && !seen {
			members[m] = false
		}
	}
	return members
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
