package view

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// findExemption returns the hold that exempts the node from fences, by the node and the policies as they are now; nil if
// no hold does. The status of a policy may be older, and names 64 nodes at most.
func (s *Seen) findExemption(node string, p *api.FencePolicy, r *api.ResolvedPolicy) *api.HeldNode {
	n := s.Node(node)
	if n == nil || p == nil {
		return nil
	}
	in := hold.Input{Policy: *r, Node: look.NodeFrom(n, ""), Refuted: s.Fence(node).Refuted()}
	if c := s.strange(r); c != nil {
		in.NotUnderstood = c.Message
	}
	h := hold.First(in, hold.ByPolicy, hold.ByNode)
	if h == nil {
		return nil
	}
	return &api.HeldNode{NodeName: node, Reason: h.Reason, Message: h.Message}
}

// strange is what nodefence has written of the policies that select a node, if one that may be about it is not
// understood; nil if all are. What this program understands says nothing of that: it may be older than nodefence,
// or newer.
func (s *Seen) strange(r *api.ResolvedPolicy) *metav1.Condition {
	for i := range r.Limits {
		p := s.policy(r.Limits[i].Policy)
		if p == nil {
			continue
		}
		for j := range p.Status.Conditions {
			if c := &p.Status.Conditions[j]; c.Status == metav1.ConditionFalse && c.Reason == string(api.PolicyNotUnderstood) {
				return c
			}
		}
	}
	return nil
}

// wanted tells whether a node that is not fenced for that reason is as it should be: its policy spares it on
// purpose, and nothing is wrong with it that the policy looks for.
func wanted(why api.Reason, n *corev1.Node, p *api.FencePolicy, r *api.ResolvedPolicy) bool {
	if !hold.Intended(why) || policy.Unclear(p) != "" || readyWord(n) != string(corev1.ConditionTrue) {
		return false
	}
	return !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return slices.ContainsFunc(r.Settings.UnhealthyConditions, func(u api.ConditionSetting) bool {
			return u.Type == string(c.Type) && u.Status == string(c.Status)
		})
	})
}
