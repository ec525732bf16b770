package v1alpha1

import "cmp"

// LeftAlone says why a node is left alone: its policy excludes it, or a label or a taint of the
// node does. It is empty if neither does.
func (p *ResolvedPolicy) LeftAlone(node string) string { return cmp.Or(p.Settings.Excluded, node) }

// Spares tells whether the policy never fences the node: a node of the control plane, by a mark of its
// own or by a policy's nodeSelector, is fenced only where the policy says so, and by the rule of quorum
// (S13).
func (p *ResolvedPolicy) Spares(controlPlane bool) bool {
	return (controlPlane || p.Settings.ControlPlane.SelectedBy != "") && p.Settings.ControlPlane.Fence != WithQuorum
}
