package look

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// mostMembers is how many nodes are read one by one for a quorum. If there are more, the
// cluster is listed.
const mostMembers = 32

// quorum reads all that counts for the quorum of etcd, for a fence that is decided on by the
// ledger's census: etcd's pods, and, where the node is a member or of the control plane, all such
// nodes and their NodeFences. All of it is read after the ledger, as the lists are.
// The census is not trusted with it (S13: never etcd's quorum): it is as late as the
// source's watches, and until then a member that has just failed would count as healthy, and
// one that has just joined not at all. lacks says why the cluster must be listed instead. Any
// policy but one that asks for a quorum needs only the lists of members in the policies.
func (w *World) quorum(ctx context.Context, f *api.NodeFence, n observed.Node) (m *admission.ReadAnew, lacks string, err error) {
	m = &admission.ReadAnew{}
	m.Etcd.Lists = etcdLists(f, w.Policies)
	if f.Status.Decision.Settings.ControlPlane.Fence != api.WithQuorum {
		m.Etcd.Members, m.Etcd.From, err = Etcd(ctx, nil, f, nil, w.Policies) // reads nothing
		return m, "", err
	}
	if m.Etcd.Members, m.Etcd.From, err = Etcd(ctx, w.etcd, f, nil, w.Policies); err != nil {
		return nil, "", err
	}
	names := memberNames(m.Etcd, f.Spec.NodeName)
	if !n.ControlPlane && !names[f.Spec.NodeName] {
		return m, "", nil // no rule of quorum is about this node
	}
	return w.membersNow(ctx, f, m, names)
}

// memberNames are the members by anybody's word, as far as that is about this node.
func memberNames(e admission.EtcdObserved, node string) map[string]bool {
	names := map[string]bool{}
	for name := range e.Members {
		names[name] = true
	}
	for _, list := range e.Lists {
		if slices.Contains(list, node) {
			for _, name := range list {
				names[name] = true
			}
		}
	}
	return names
}

// membersNow reads as they are the nodes of the members that pods and policies name, and of the
// control plane.
func (w *World) membersNow(ctx context.Context, f *api.NodeFence, m *admission.ReadAnew, names map[string]bool) (_ *admission.ReadAnew, lacks string, err error) {
	planes, err := w.planes()
	if err != nil {
		return nil, "", err
	}
	others := w.planesToo(names, planes, f.Spec.NodeName)
	if len(others) > mostMembers {
		return nil, "more nodes are of etcd and of the control plane than are read one by one", nil
	}
	m.Nodes = map[string]*admission.Node{}
	for _, name := range others {
		m.Nodes[name] = nil
	}
	unread := slices.DeleteFunc(slices.Clone(others), func(name string) bool {
		return slices.ContainsFunc(planes, func(n corev1.Node) bool { return n.Name == name })
	})
	var nodes []corev1.Node
	var fences []api.NodeFence
	err = w.reader.Together(
		func() (err error) { nodes, err = w.reader.NodesNamed(ctx, unread); return err },
		func() (err error) { fences, err = w.reader.FencesNamed(ctx, others); return err },
	)
	if err != nil {
		return nil, "", err
	}
	nodes = append(nodes, planes...)
	for _, is := range ClusterNodes(nodes) {
		m.Nodes[is.Name] = &is
	}
	for i := range fences {
		m.Fences = append(m.Fences, &fences[i])
	}
	m.Etcd.Members, m.Etcd.From, err = Etcd(ctx, w.etcd, f, nodes, w.Policies)
	return m, "", err
}

// planesToo are the names of members, but for one node that was read already, with those of the
// control plane: of the nodes that have a label of it now, of those that were of it when their
// fence began, and of those that the census has as such: one of these may be deleted by now.
func (w *World) planesToo(members map[string]bool, planes []corev1.Node, but string) []string {
	names := maps.Clone(members)
	for i := range planes {
		names[planes[i].Name] = true
	}
	for _, u := range w.ledger.Status.UnderWay {
		names[u.NodeName] = names[u.NodeName] || u.ControlPlane
	}
	for _, n := range w.ledger.Status.Census.Nodes {
		names[n.NodeName] = names[n.NodeName] || n.ControlPlane
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		return !names[name] || name == but || len(validation.IsDNS1123Subdomain(name)) > 0 // no Node has such a name
	})
}

// labelledPlanes reads the nodes that have a role of the control plane or of etcd, each once. A node of
// MicroK8s runs no etcd, and is not read.
func labelledPlanes(ctx context.Context, c kube.Reader) (all []corev1.Node, err error) {
	found := make([][]corev1.Node, len(easingRoles))
	var requests []func() error
	for i, label := range easingRoles {
		requests = append(requests, func() (err error) { found[i], err = c.NodesWith(ctx, label); return err })
	}
	if err := c.Together(requests...); err != nil {
		return nil, err
	}
	for _, n := range slices.Concat(found...) {
		if !slices.ContainsFunc(all, func(is corev1.Node) bool { return is.Name == n.Name }) {
			all = append(all, n)
		}
	}
	return all, nil
}
