package v1alpha1

import "cmp"

// LeftAlone says why a node is left alone: its policy excludes it, or a label or a taint of the
// node does. It is empty if neither does.
func (p *ResolvedPolicy) LeftAlone(node string) string { return cmp.Or(p.Settings.Excluded, node) }

// Spares tells whether the policy never fences nodes of this kind: those of the control plane are
// fenced only where it says so, and by the rule of quorum (S13).
func (p *ResolvedPolicy) Spares(controlPlane bool) bool {
	return controlPlane && p.Settings.ControlPlane.Fence != WithQuorum
}
