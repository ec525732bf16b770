package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// sparing are the reasons for which a policy never has a node fenced, however it is. They follow from the node
// and the policies alone.
var sparing = []api.Reason{api.ControlPlaneNode, api.Excluded}

// spared says for which of them the node is not fenced, by the node and the policies of now; nil if it may be.
// The status of a policy may be older, and names 64 nodes at most.
func (s *Seen) spared(node string, p *api.FencePolicy, r *api.ResolvedPolicy) *api.HeldNode {
	n := s.Node(node)
	if n == nil || p == nil {
		return nil
	}
	is := look.NodeFrom(n, "")
	switch why := r.LeftAlone(is.Excluded); {
	case r.Spares(is.ControlPlane):
		return &api.HeldNode{NodeName: node, Reason: api.ControlPlaneNode, Message: "controlPlane.fence is Never"}
	case why != "":
		return &api.HeldNode{NodeName: node, Reason: api.Excluded, Message: why}
	}
	return nil
}

// wanted tells whether a node that is not fenced for that reason is as it should be: its policy spares it on
// purpose, and nothing is wrong with it that the policy looks for.
func wanted(why api.Reason, n *corev1.Node, p *api.FencePolicy, r *api.ResolvedPolicy) bool {
	if !slices.Contains(sparing, why) || policy.Unclear(p) != "" || readyWord(n) != string(corev1.ConditionTrue) {
		return false
	}
	return !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return slices.ContainsFunc(r.Settings.UnhealthyConditions, func(u api.ConditionSetting) bool {
			return u.Type == string(c.Type) && u.Status == string(c.Status)
		})
	})
}
