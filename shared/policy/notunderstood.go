package policy

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A policy, a budget or a ledger that this program does not fully understand may have a
// brake that the program does not know. So it holds like a pause: no fence begins and no
// further Off is sent. A fence that was begun runs to its end by its recorded decision
// (S25: what was begun runs to its end).
//
// A policy holds the nodes that its selector matches, whether it decides for them or only
// its limits hold, and the fences that were admitted under its limits. It holds every node
// if the selector is not understood, or if controlPlane, missingNodes or machines are not:
// these fields are about nodes that the selector need not match, such as etcd's members and
// missing nodes, and one broken policy must not loosen the limits for the nodes of others.

// NotUnderstood returns the first policy that may be about a node and is not understood;
// nil if there is none.
func NotUnderstood(policies []api.FencePolicy, nodeLabels map[string]string, limits []api.ScopedLimits) (first *api.FencePolicy) {
	for i := range policies {
		p := &policies[i]
		if !p.NotUnderstood.Any() || p.DeletionTimestamp != nil {
			continue
		}
		under := slices.ContainsFunc(limits, func(l api.ScopedLimits) bool { return l.Policy == p.Name })
		mine := under || p.NotUnderstood.Everywhere || Selects(p.Spec.Selector, nodeLabels)
		if mine && (first == nil || p.Name < first.Name) {
			first = p
		}
	}
	return first
}

// Everywhere returns the first policy that is not understood and holds every node; nil if
// there is none.
func Everywhere(policies []api.FencePolicy) *api.FencePolicy {
	return NotUnderstood(slices.DeleteFunc(slices.Clone(policies), func(p api.FencePolicy) bool { return !p.NotUnderstood.Everywhere }), nil, nil)
}

// PolicyWords says which fields of a policy this program does not understand.
func PolicyWords(p *api.FencePolicy) string {
	return p.NotUnderstood.Words("FencePolicy " + p.Name)
}
