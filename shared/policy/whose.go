package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// NodeIdentity is the part of a Node that shows of which Machine it may be.
type NodeIdentity struct {
	Name, ProviderID string
	// Addresses are all addresses of the Node, host names and names of DNS too.
	Addresses []string
	// Machines are the Machines that the Node names as its own, as namespace/name.
	Machines []string
}

// IdentityOf returns the identity of a Node.
func IdentityOf(n *corev1.Node) NodeIdentity {
	id := NodeIdentity{Name: n.Name, ProviderID: n.Spec.ProviderID}
	for _, a := range n.Status.Addresses {
		id.Addresses = append(id.Addresses, a.Address)
	}
	if m := n.Annotations["machine.openshift.io/machine"]; m != "" {
		id.Machines = append(id.Machines, m)
	}
	if m := n.Annotations["cluster.x-k8s.io/machine"]; m != "" {
		id.Machines = append(id.Machines, n.Annotations["cluster.x-k8s.io/cluster-namespace"]+"/"+m)
	}
	return id
}

// Identities returns the identities of Nodes.
func Identities(nodes []corev1.Node) []NodeIdentity {
	all := make([]NodeIdentity, 0, len(nodes))
	for i := range nodes {
		all = append(all, IdentityOf(&nodes[i]))
	}
	return all
}

// SeenAs says by what a Node may be that of the Machine, though the Machine does not name it
// (status.nodeRef); empty if by nothing. A node may write its addresses and annotations: that
// keeps a Machine, and never loses one. An address counts for nothing where both have a provider
// ID: an address may be another machine's by now.
func (m *Machine) SeenAs(n NodeIdentity) string {
	both := m.Spec.ProviderID != "" && n.ProviderID != ""
	switch {
	case both && strings.EqualFold(m.Spec.ProviderID, n.ProviderID):
		return "has its provider ID"
	case n.Name == m.Name:
		return "has its name"
	case slices.Contains(n.Machines, m.Namespace+"/"+m.Name):
		return "names it in an annotation"
	case both:
		return ""
	}
	for _, a := range m.Status.Addresses {
		if a.Address == "" {
			continue
		}
		if strings.EqualFold(a.Address, n.Name) || slices.ContainsFunc(n.Addresses, func(of string) bool { return strings.EqualFold(a.Address, of) }) {
			return "has its address " + a.Address
		}
	}
	return ""
}

// hasNoNode returns an error unless the Nodes were seen and none of them may be the Machine's
// (S2: what is unknown is never taken for off). The controller that writes nodeRef may be down.
func (m *Machine) hasNoNode(nodes []NodeIdentity) error {
	if m.Status.NodeRef != nil {
		return errors.New("it has a node: " + m.Status.NodeRef.Name)
	}
	if len(nodes) == 0 {
		return errors.New("it names no node, and no Node was seen: whether a Node is its own is not known")
	}
	for _, n := range nodes {
		if by := m.SeenAs(n); by != "" {
			return fmt.Errorf("it names no node, and Node %s %s: see why nothing writes status.nodeRef, or delete this Machine by hand", n.Name, by)
		}
	}
	return nil
}
