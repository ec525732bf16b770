package admission

import (
	"cmp"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/policy"
)

// Nothing of a policy is frozen before a slot is reserved: while a fence is Pending the
// gate resolves its policy anew. From the reservation to the Off each look holds the
// fence against the policies as they stand, and whatever is stricter there sends it back
// to the gate, or ends it where no policy selects its node any more. After the first Off
// the same stops further Offs, and nothing else (S17, S25).

// Live is what the policies as they stand make of a fence's node; false if none selects it. A
// missing node whose Machine was left alone since the fence opened is excluded.
func Live(policies []api.FencePolicy, f *api.NodeFence, n observed.Node, now time.Time) (r api.ResolvedPolicy, selected bool) {
	r, selected = resolvedAnew(policies, f, n, now)
	if t := f.Status.Decision.Trigger; selected && t.Missing() && !t.OnlyMachine() && !n.Exists {
		r.Settings.Excluded = clip.Message(cmp.Or(r.Settings.Excluded, policy.HeldMissing(policies, f.Spec.NodeName)))
	}
	return r, selected
}

func resolvedAnew(policies []api.FencePolicy, f *api.NodeFence, n observed.Node, now time.Time) (r api.ResolvedPolicy, selected bool) {
	node, t := f.Spec.NodeName, f.Status.Decision.Trigger
	switch {
	case t.OnlyMachine():
		r, _, selected = policy.ResolveAlone(policies, node, now)
	case t.Missing() && !n.Exists:
		r, _, selected = policy.ResolveMissing(policies, node, now)
	default:
		return policy.ResolvePolicy(policies, node, n.Labels)
	}
	if selected {
		return r, true
	}
	// What is missing may not be listed just now: the policy under which it was opened
	// speaks for it as long as it expects such nodes.
	for _, p := range policies {
		if p.Name == f.Status.Decision.Policy.Name && (p.Spec.Machines != nil || policy.Names(&p, node)) {
			selector := p.Spec.Selector
			p.Spec.Selector = policy.EveryNode
			if r, selected = policy.ResolvePolicy([]api.FencePolicy{p}, node, nil); selected {
				r.Limits[0].Selector = policy.CountedOver(selector)
			}
		}
	}
	return r, selected
}

// limitsNow are the limits by which a fence counts now: the policies' as they stand, and
// what the ConfigMaps laid over them.
func limitsNow(f *api.NodeFence, is api.ResolvedPolicy) []api.ScopedLimits {
	return slices.Concat(is.Limits, slices.DeleteFunc(slices.Clone(f.Status.Decision.Limits), func(l api.ScopedLimits) bool { return l.SkipFrom == 0 }))
}

// underLive is a fence with what is counted by the policies as they stand.
func underLive(f *api.NodeFence, is api.ResolvedPolicy) *api.NodeFence {
	g := *f
	g.Status.Decision.Limits = limitsNow(f, is)
	g.Status.Decision.Policy.Name, g.Status.Decision.Settings.ControlPlane = is.Policy.Name, is.Settings.ControlPlane
	return &g
}

// changed tells whether the policies that a record rests on are not those that stand.
func changed(was, is api.ResolvedPolicy) bool {
	limits := func(p api.ResolvedPolicy) (all []string) {
		for _, l := range p.Limits {
			if l.SkipFrom == 0 { // a ConfigMap's, which is laid over with the binding
				all = append(all, facts.PolicyNamed(l.Policy, l.Generation))
			}
		}
		return all
	}
	return was.Policy.Name != is.Policy.Name || was.Policy.Generation != is.Policy.Generation || was.Settings.Conflict != is.Settings.Conflict || was.Settings.Excluded != is.Settings.Excluded ||
		!slices.Equal(limits(was), limits(is))
}

// Outdated: the policies under which a slot is asked for are not those that stand.
func Outdated(f *api.NodeFence, policies []api.FencePolicy, n observed.Node, now time.Time) *observed.Verdict {
	is, selected := Live(policies, f, n, now)
	if f.Status.Begun() || selected && !changed(f.Status.Decision.ResolvedPolicy, is) {
		return nil
	}
	return refuse(api.PolicyChanged, "the policies have just changed: asking again", facts.Poll)
}

// Spared holds a fence of a control-plane node that its policy never fences (S13): the one hold of a policy that is
// about the cut alone. The gate may know such a node by its static pods only.
func Spared(f *api.NodeFence, n observed.Node) *observed.Verdict {
	for _, h := range hold.All(hold.Input{Policy: f.Status.Decision.ResolvedPolicy, Node: n}, hold.ByPolicy) {
		if h.CutOnly {
			return refuse(h.Reason, h.Message, h.Again)
		}
	}
	return nil
}

// Renew has a fence that is not begun rest on the policies as they stand; what the
// ConfigMaps laid over them stays until they are laid over anew.
func Renew(f *api.NodeFence, policies []api.FencePolicy, n observed.Node, now time.Time) {
	if is, selected := Live(policies, f, n, now); selected && !f.Status.Begun() {
		is.Limits = limitsNow(f, is)
		f.Status.Decision.ResolvedPolicy = is
	}
}

// Recount asks all that Admit asks once more, right before power is cut or access taken:
// the storm's count, budgets and quorum by the policies as they stand, and the room that
// was reserved (S13, S14, S15). The ledger is not changed by it. Of what was begun only
// what speaks against a further Off counts.
func Recount(f *api.NodeFence, is api.ResolvedPolicy, c Picture, led *api.FenceLedger, now time.Time) *observed.Verdict {
	g, l := underLive(f, is), led.DeepCopy()
	if f.Status.Begun() {
		return refused(g, c, l, now, budgets, quorum)
	}
	return refused(g, c, l, now, room, rate, budgets, quorum)
}
