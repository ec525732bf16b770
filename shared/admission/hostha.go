package admission

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/policy"
)

// Host is what a node's state in Host HA follows from.
type Host struct {
	Name   string
	Labels map[string]string
	// Here: there is a Node object of that name. Of one that is gone no policy speaks any
	// more, and its fence says all.
	Here bool
	// Excluded says which label or taint of the node's own has it left alone.
	Excluded     string
	ControlPlane bool
	// Policies are all there are; Stopped is that the ledger lets nothing new start.
	Policies []api.FencePolicy
	Stopped  bool
	// Fence is the node's, if it has one.
	Fence *api.NodeFence
	// Fenceable is the condition of its FenceTarget.
	Fenceable metav1.ConditionStatus
}

// HostHA is a node's state in the words of CloudStack's Host HA. Nobody decides by it.
//
// As there, DISABLED is that Host HA is not switched on for the node, INELIGIBLE that it
// is, and that the node can't be managed. A fence that has begun is seen through whatever
// is switched off meanwhile (S25), so its state stands before both.
func HostHA(h Host) api.HostHA {
	f := h.Fence
	open := f != nil && f.Open()
	if open && f.CurrentPhase() != api.Pending {
		return begunState(&f.Status)
	}
	on, can := h.managed()
	switch {
	case !on:
		return api.HostHADisabled
	case !can:
		return api.HostHAIneligible
	case open:
		return pendingState(f.Status.ActivityChecks)
	case h.Fenceable == metav1.ConditionFalse:
		return api.HostHAIneligible
	}
	return api.HostHAAvailable
}

// managed is whether the policies have the node fenced, and if they do whether they can.
func (h Host) managed() (on, can bool) {
	if !h.Here {
		return true, true
	}
	r, holds, ok := h.listHolds()
	paused := func(lim api.ScopedLimits) bool {
		return slices.ContainsFunc(h.Policies, func(p api.FencePolicy) bool {
			return p.Name == lim.Policy && len(p.Spec.PauseRequests) > 0
		})
	}
	is := func(state api.HostHA) bool {
		return slices.ContainsFunc(holds, func(o hold.Hold) bool { return o.HostHA == state })
	}
	on = ok && !h.Stopped && !is(api.HostHADisabled) && !slices.ContainsFunc(r.Limits, paused)
	return on, !is(api.HostHAIneligible)
}

// listHolds returns the holds of the table that follow from the policies, and the result of the policies for the
// node; ok is false if no policy selects the node.
func (h Host) listHolds() (r api.ResolvedPolicy, all []hold.Hold, ok bool) {
	r, ok = policy.ResolvePolicy(h.Policies, h.Name, h.Labels)
	in := hold.Input{Policy: r, Node: observed.Node{ControlPlane: h.ControlPlane, Plans: observed.Plans{Excluded: h.Excluded}}}
	if p := policy.NotUnderstood(h.Policies, h.Labels, r.Limits); p != nil {
		in.NotUnderstood = policy.PolicyWords(p)
	}
	return r, hold.All(in, hold.ByPolicy, hold.ByMode), ok
}

// ToBeFenced tells whether the policies would have the node fenced if it failed: one that acts
// selects it, and nobody leaves it alone. What holds fences for a time, as a stop, a pause, or
// a conflict that somebody has to end, makes no difference: its devices are to work after that.
// Nobody decides by it.
func ToBeFenced(h Host) bool {
	_, all, ok := h.listHolds()
	return h.Here && ok && !slices.ContainsFunc(all, func(o hold.Hold) bool { return o.Exempt })
}

// pendingState depends on the activity checks.
func pendingState(a *api.ActivityRecord) api.HostHA {
	switch {
	case a == nil:
		return api.HostHASuspect
	case a.Degraded:
		return api.HostHADegraded
	case a.StartedAt != nil:
		return api.HostHAChecking
	}
	return api.HostHASuspect
}

// begunState is that of a fence that has a slot, or had one.
func begunState(st *api.NodeFenceStatus) api.HostHA {
	switch st.Phase {
	case api.Probing:
		return api.HostHAChecking // its device is asked, and nothing is done to it
	case api.Draining, api.Isolating, api.Fencing, api.Releasing:
		return api.HostHAFencing
	case api.Fenced:
		return api.HostHAFenced
	case api.Recovering:
		switch {
		case st.WaitsFor == api.WaitsForUncordon:
			return api.HostHAFenced // a person must give it back
		case st.ReadySince != nil || st.Outcome == api.Recovered || st.Outcome == api.HealedBeforeFence:
			return api.HostHARecovered
		}
		return api.HostHARecovering
	case api.PoweringOn, api.Restoring:
		return api.HostHARecovering
	}
	return api.HostHAIneligible // it failed: it can't be managed until a person has seen to it
}
