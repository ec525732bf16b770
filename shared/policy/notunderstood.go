package policy

import (
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A policy, a budget or a ledger of which this program does not understand something may
// have a brake that it does not know. So it holds, as a pause does: nothing begins and no
// further Off is sent, and what was begun runs to its end by what was decided (S25).
//
// A policy holds the nodes that its selector chooses, whether it decides for them or only
// its limits hold, and the fences that were admitted under its limits. It holds every node
// where its selector is what is not understood, and where controlPlane, missingNodes or
// machines are: these are about nodes that its selector need not choose, such as etcd's
// members and nodes that are missing, and one broken policy must not loosen what holds for
// the nodes of others.

// NotUnderstood is the first policy that may be about a node and is not understood; nil if
// there is none.
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

// Everywhere is the first policy that is not understood and holds every node; nil if there
// is none.
func Everywhere(policies []api.FencePolicy) *api.FencePolicy {
	return NotUnderstood(slices.DeleteFunc(slices.Clone(policies), func(p api.FencePolicy) bool { return !p.NotUnderstood.Everywhere }), nil, nil)
}

// PolicyWords says what of a policy this program does not understand.
func PolicyWords(p *api.FencePolicy) string {
	return p.NotUnderstood.Words("FencePolicy " + p.Name)
}
