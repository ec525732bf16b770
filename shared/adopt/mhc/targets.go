package mhc

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/policy"
)

// Target is a Machine that a MachineHealthCheck chooses.
type Target struct {
	Machine *policy.Machine
	// Node is that of the Machine; nil if it has none in this cluster.
	Node *corev1.Node
}

// Targets are the Machines that it chooses, in its own namespace and of its own group, by name.
func (c *Check) Targets(machines []policy.Machine, nodes []corev1.Node) (all []Target) {
	for i := range machines {
		m := &machines[i]
		if m.Namespace != c.Namespace || groupOf(m.APIVersion) != c.Group() || !policy.Chooses(&c.Selector, m.Labels) {
			continue
		}
		all = append(all, Target{Machine: m, Node: nodeOf(m, nodes)})
	}
	slices.SortFunc(all, func(a, b Target) int { return strings.Compare(a.Machine.Name, b.Machine.Name) })
	return all
}

// nodeOf is the Node of a Machine; nil if it has none here.
func nodeOf(m *policy.Machine, nodes []corev1.Node) *corev1.Node {
	at := slices.IndexFunc(nodes, func(n corev1.Node) bool { return m.Has(&n) })
	if at < 0 {
		return nil
	}
	return &nodes[at]
}

// Elsewhere tells whether its Machines have their nodes in another cluster, as far as can be seen:
// some name a node, and no Node here is one of theirs.
func Elsewhere(all []Target) bool {
	named := false
	for _, t := range all {
		if t.Node != nil {
			return false
		}
		named = named || t.Machine.Status.NodeRef != nil
	}
	return named
}

// HeldByCluster says why the Cluster of its Machines has them left alone; empty if it has not.
func HeldByCluster(all []Target) string {
	for _, t := range all {
		if t.Machine.HeldByCluster != "" {
			return t.Machine.HeldByCluster
		}
	}
	return ""
}

// Marked are the names of the Nodes that its policy is to select: those of its Machines, without
// those that are to be left alone by an annotation.
func Marked(all []Target) (nodes []string) {
	for _, t := range all {
		if t.Node != nil && !leftAlone(t.Machine) {
			nodes = append(nodes, t.Node.Name)
		}
	}
	return nodes
}

func leftAlone(m *policy.Machine) bool {
	_, skip := m.Annotations[policy.SkipRemediation]
	_, paused := m.Annotations[policy.Paused]
	return skip || paused
}
