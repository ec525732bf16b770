package fence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Nothing of a policy is frozen before a slot is reserved: while a fence is Pending the
// gate resolves its policy anew. From the reservation to the Off each look holds the
// fence against the policies as they stand, and whatever is stricter there sends it back
// to the gate, or ends it where no policy selects its node any more. After the first Off
// the same stops further Offs, and nothing else (S17, S25).

// Live is what the policies as they stand make of a fence's node; false if none selects it.
func Live(policies []api.FencePolicy, f *api.NodeFence, n Node, now time.Time) (r api.ResolvedPolicy, selected bool) {
	node, t := f.Spec.NodeName, f.Status.Decision.Trigger
	switch {
	case t.OnlyMachine():
		r, _, selected = ResolveAlone(policies, node, now)
	case t.Missing() && !n.Exists:
		r, _, selected = ResolveMissing(policies, node, now)
	default:
		return ResolvePolicy(policies, node, n.Labels)
	}
	if selected {
		return r, true
	}
	// What is missing may not be listed just now: the policy under which it was opened
	// speaks for it as long as it expects such nodes.
	for _, p := range policies {
		if p.Name == f.Status.Decision.Policy.Name && (p.Spec.Machines != nil || names(&p, node)) {
			selector := p.Spec.Selector
			p.Spec.Selector = everyNode
			if r, selected = ResolvePolicy([]api.FencePolicy{p}, node, nil); selected {
				r.Limits[0].Selector = countedOver(selector)
			}
		}
	}
	return r, selected
}

// named is a policy with the generation that is spoken of, if it is known.
func named(policy string, generation int64) string {
	if generation == 0 {
		return "policy " + policy
	}
	return fmt.Sprintf("policy %s (generation %d)", policy, generation)
}

func policyOf(p api.ResolvedPolicy) string { return named(p.Policy.Name, p.Policy.Generation) }

// stricter says in which way what the policies make of a node now allows less than what
// a fence was admitted under; empty if in none. How many may be fenced, and when, is
// counted and not compared (see Recount and closed).
func stricter(was, is api.ResolvedPolicy) (api.Reason, string) {
	modes, by := []api.Mode{api.ModeEnforce, api.ModeRequireApproval, api.ModeDryRun}, policyOf(is)
	switch {
	case is.Settings.Conflict != "":
		return api.PolicyConflict, conflict(is)
	case is.Settings.Excluded != "":
		return api.Excluded, is.Settings.Excluded + generationOf(is)
	case is.Policy.Name != was.Policy.Name:
		return api.PolicyChanged, by + " decides for this node now; it was admitted under " + policyOf(was)
	case slices.Index(modes, is.Settings.Mode) > slices.Index(modes, was.Settings.Mode):
		return cmp.Or(map[api.Mode]api.Reason{api.ModeDryRun: api.DryRun, api.ModeRequireApproval: api.WaitingForApproval}[is.Settings.Mode], api.PolicyChanged),
			by + " is in mode " + string(is.Settings.Mode) + " now"
	case reach(is.Settings.Action) < reach(was.Settings.Action):
		return api.PolicyChanged, by + " has action " + string(is.Settings.Action) + " now"
	case is.Settings.ControlPlane.Fence != api.WithQuorum && was.Settings.ControlPlane.Fence == api.WithQuorum:
		return api.ControlPlaneNode, by + " never fences control-plane nodes now (controlPlane.fence: Never)"
	}
	if what := asksMore(was, is); what != "" {
		return api.PolicyChanged, by + " asks for more now: " + what
	}
	return "", ""
}

func generationOf(p api.ResolvedPolicy) string {
	if p.Policy.Generation == 0 {
		return ""
	}
	return fmt.Sprintf(" (generation %d)", p.Policy.Generation)
}

// reach is how far an action goes.
func reach(a api.FenceAction) int {
	switch a {
	case api.ActionWaitForOff:
		return 0
	case api.ActionIsolate:
		return 1
	}
	return 2
}

// asksMore is what must be seen or waited for now and had not to be before.
func asksMore(was, is api.ResolvedPolicy) string {
	if is.Settings.ActivityChecks != nil && was.Settings.ActivityChecks == nil {
		return "activityChecks"
	}
	if is.Settings.StorageCheck != nil && was.Settings.StorageCheck == nil {
		return "storageCheck"
	}
	if is.Settings.Kdump != nil && was.Settings.Kdump == nil {
		return "kdump"
	}
	if e := is.Settings.EarlyProbe; was.Settings.EarlyProbe != nil && (e == nil || e.LeaseStillDuration.Duration > was.Settings.EarlyProbe.LeaseStillDuration.Duration) {
		return "earlyProbe"
	}
	for _, c := range was.Settings.UnhealthyConditions {
		i := slices.IndexFunc(is.Settings.UnhealthyConditions, func(o api.ConditionSetting) bool { return o.Type == c.Type && o.Status == c.Status })
		if i < 0 || is.Settings.UnhealthyConditions[i].Duration.Duration > c.Duration.Duration {
			return "unhealthyConditions"
		}
	}
	return ""
}

// changed tells whether the policies that a record rests on are not those that stand.
func changed(was, is api.ResolvedPolicy) bool {
	limits := func(p api.ResolvedPolicy) (all []string) {
		for _, l := range p.Limits {
			if l.SkipFrom == 0 { // a ConfigMap's, which is laid over with the binding
				all = append(all, named(l.Policy, l.Generation))
			}
		}
		return all
	}
	return was.Policy.Name != is.Policy.Name || was.Policy.Generation != is.Policy.Generation || was.Settings.Conflict != is.Settings.Conflict || was.Settings.Excluded != is.Settings.Excluded ||
		!slices.Equal(limits(was), limits(is))
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

// Against says what stands against a fence in the policies and the ledger as they are.
// The node is as it was just looked at.
func Against(f *api.NodeFence, policies []api.FencePolicy, n Node, led *api.FenceLedger, now time.Time) Brakes {
	b := Brakes{Looked: true}
	is, selected := Live(policies, f, n, now)
	if unknown := !n.Exists && !f.Status.Decision.Trigger.Missing(); unknown || !selected {
		is = f.Status.Decision.ResolvedPolicy
		if !unknown {
			b.none(f)
		}
	} else {
		b.against(f, is, n)
	}
	limits := limitsNow(f, is)
	b.understood(policies, n, is, limits)
	b.limited(limits, policies)
	b.counted(underLive(f, is), n, led)
	if v := pictureUsable(led.Status.Leases, now); v != nil {
		b.Unwatched = v.Message
	}
	return b
}

// none: no policy selects the node any more. What was begun runs to its end, without a
// further Off; anything else ends.
func (b *Brakes) none(f *api.NodeFence) {
	b.Why, b.Message = api.PolicyDeleted, "no FencePolicy selects this node any more; it was fenced under "+policyOf(f.Status.Decision.ResolvedPolicy)
	if b.Gone = !f.Status.Begun(); !b.Gone {
		b.Stopped = true
		b.Message += ": no further power is cut until one does"
	}
}

func (b *Brakes) against(f *api.NodeFence, is api.ResolvedPolicy, n Node) {
	was := f.Status.Decision.ResolvedPolicy
	b.Changed = changed(was, is)
	if is.Settings.Mode == api.ModeRequireApproval && approved(f.Requests(), &f.Status) {
		is.Settings.Mode = was.Settings.Mode // a person's yes stands for this cut, and for nothing else
	}
	why, msg := stricter(was, is)
	switch {
	case why == "" && n.Excluded != "":
		why, msg = api.Excluded, n.Excluded
	case why == "" && n.ControlPlane && is.Settings.ControlPlane.Fence != api.WithQuorum:
		why, msg = api.ControlPlaneNode, policyOf(is)+" never fences control-plane nodes (controlPlane.fence: Never)"
	}
	if why == "" {
		return
	}
	b.Stricter, b.Why, b.Message = true, why, msg
	b.Unmark = why == api.Excluded || is.Settings.Mode == api.ModeDryRun || is.Settings.Action == api.ActionWaitForOff
}

// limited notes the pauses and the pause windows of the policies whose limits hold.
func (b *Brakes) limited(limits []api.ScopedLimits, policies []api.FencePolicy) {
	for _, lim := range limits {
		for i := range policies {
			p := &policies[i]
			if p.Name != lim.Policy || lim.SkipFrom > 0 {
				continue
			}
			if len(p.Spec.PauseWindows) > 0 {
				b.Windows = append(b.Windows, Windows{Policy: p.Name, Windows: p.Spec.PauseWindows})
			}
			switch {
			case b.Paused || b.Stopped:
			case len(p.Spec.PauseRequests) > 0:
				b.Paused, b.Message = true, named(p.Name, p.Generation)+" is paused by "+strings.Join(p.Spec.PauseRequests, ", ")
			}
		}
	}
}

// counted notes what the ledger says.
func (b *Brakes) counted(f *api.NodeFence, n Node, led *api.FenceLedger) {
	say := func(why api.Reason, msg string) {
		if !b.Paused && !b.Stopped && !b.Stricter && !b.Gone {
			b.Why, b.Message = why, msg
		}
	}
	if msg := Storming(f, n.Labels, led); msg != "" {
		b.Storm = true
		say("", msg)
	} else if v := StormOfLeases(led); v != nil {
		b.Storm = true // S15, S16
		say(v.Reason, v.Message)
	}
	if e := led.Spec.CoolDownEnded; e != nil && e.By != "" {
		b.Ended = e.By + " has ended the cool-down: " + e.Reason
	}
	if why, msg := Stopped(led); why != "" {
		b.Stopped, b.Gone, b.Why, b.Message = true, false, why, msg
	}
}

// Recount asks all that Admit asks once more, right before power is cut or access taken:
// the storm's count, budgets and quorum by the policies as they stand, and the room that
// was reserved (S13, S14, S15). The ledger is not changed by it. Of what was begun only
// what speaks against a further Off counts.
func Recount(f *api.NodeFence, is api.ResolvedPolicy, c Cluster, led *api.FenceLedger, now time.Time) *Verdict {
	g, l := underLive(f, is), led.DeepCopy()
	if f.Status.Begun() {
		return refused(g, c, l, now, budgets, quorum)
	}
	return refused(g, c, l, now, room, rate, budgets, quorum)
}

// Renew has a fence that is not begun rest on the policies as they stand; what the
// ConfigMaps laid over them stays until they are laid over anew.
func Renew(f *api.NodeFence, policies []api.FencePolicy, n Node, now time.Time) {
	if is, selected := Live(policies, f, n, now); selected && !f.Status.Begun() {
		is.Limits = limitsNow(f, is)
		f.Status.Decision.ResolvedPolicy = is
	}
}

// Outdated: the policies under which a slot is asked for are not those that stand.
func Outdated(f *api.NodeFence, policies []api.FencePolicy, n Node, now time.Time) *Verdict {
	is, selected := Live(policies, f, n, now)
	if f.Status.Begun() || selected && !changed(f.Status.Decision.ResolvedPolicy, is) {
		return nil
	}
	return &Verdict{api.PolicyChanged, "the policies have just changed: asking again", Poll}
}

// DevicesStay: something was switched off by the devices as they are bound. It is by
// them that it is switched on again, whatever their configuration says by now (S11, S12).
func DevicesStay(f *api.NodeFence) bool {
	return f.Status.Begun() || slices.ContainsFunc(f.Status.Isolation, owed)
}
