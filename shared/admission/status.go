package admission

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/policy"
)

// The conditions of a FencePolicy.
const (
	fencingAllowed = "FencingAllowed"
	// nodesPresent is False while an expected node is missing for too long.
	nodesPresent = "NodesPresent"
)

// PolicyStatus is what a policy says of itself: its nodes, whether a fence may
// begin, and for each node that is not being fenced, why. Nobody decides by it.
func PolicyStatus(p *api.FencePolicy, all []api.FencePolicy, c Picture, l *api.FenceLedger, now time.Time) api.FencePolicyStatus {
	st := *p.Status.DeepCopy()
	lim := policy.LimitsOf(p)
	st.FailedMachines, st.FailedMachinesCount = listed(failedNow(p, c, now))
	bad := ailing(c, l)
	st.ObservedGeneration, st.SelectedNodes, st.UnhealthyNodes, st.OpenFences = p.Generation, 0, 0, 0
	st.Held, st.HeldCount = nil, 0
	st.LastDecisions = lastDecisions(p, c)
	st.StormSince, st.CoolDownUntil = stormOf(p, l, now)
	for _, n := range c.Nodes {
		if !isCounted(scopes(lim)[0], "", n) {
			continue
		}
		st.SelectedNodes++
		if n.Unhealthy || bad[n.Name] {
			st.UnhealthyNodes++
		}
		if f := c.fence(n.Name); f != nil && f.Open() {
			st.OpenFences++
		}
		if h := held(p, n, all, c); h != nil && n.Under == nil {
			if st.HeldCount++; len(st.Held) < maxHeld {
				h.Message = clip.Message(h.Message)
				st.Held = append(st.Held, *h)
			}
		}
	}
	st.HealthyNodes = st.SelectedNodes - st.UnhealthyNodes
	rooms := roomNow(lim, &st, c, l, now)
	st.FencesAllowed = rooms.fences
	st.Missing, st.MissingCount = listed(missingNow(p, c, now))
	conditionsOf(p, &st, all, c, l, rooms, now)
	st.Effective = inEffect(p, lim, &st, all, c, now)
	return st
}

// conditionsOf are FencingAllowed, Accepted, and NodesPresent where nodes are expected.
func conditionsOf(p *api.FencePolicy, st *api.FencePolicyStatus, all []api.FencePolicy, c Picture, l *api.FenceLedger, r rooms, now time.Time) {
	set := func(typ string, ok bool, why api.Reason, msg string) {
		tell(&st.Conditions, p.Generation, now, typ, ok, why, msg)
	}
	allowed, why, words := true, api.WithinLimits, r.words
	wrong := policy.Unclear(p)
	strange := p
	if !p.NotUnderstood.Any() {
		strange = policy.Everywhere(all)
	}
	shut := policy.Closed([]policy.Windows{{Policy: p.Name, Windows: p.Spec.PauseWindows}}, c.Zones, now)
	switch stop, message := Stopped(l); {
	case stop != "":
		allowed, why, words = false, stop, message
	case len(p.Spec.PauseRequests) > 0:
		allowed, why, words = false, api.Paused, "paused by "+strings.Join(p.Spec.PauseRequests, ", ")
	case strange != nil:
		allowed, why, words = false, api.PolicyNotUnderstood, policy.PolicyWords(strange)
	case wrong != "":
		allowed, why, words = false, api.SelectorInvalid, wrong
	case shut != nil:
		allowed, why, words = false, shut.Why, shut.Message
	case r.why != "":
		allowed, why = false, r.why
	}
	set(fencingAllowed, allowed, why, words)
	if !allowed {
		st.FencesAllowed = 0
	}
	if x := p.Spec.Machines; x != nil && wrong == "" {
		if wrong = policy.Unreadable(p.Name, "spec.machines.selector", x.Selector); wrong != "" {
			wrong += "; it chooses no Machine until that is corrected"
		}
	}
	conflict, with := conflicting(p, all, c)
	etcd := etcdListWords(p, c)
	switch {
	case p.NotUnderstood.Any():
		set(accepted, false, api.PolicyNotUnderstood, policy.PolicyWords(p))
	case wrong != "":
		set(accepted, false, api.SelectorInvalid, wrong)
	case shut != nil && shut.Why == api.PauseWindowInvalid:
		set(accepted, false, shut.Why, shut.Message)
	case conflict != "":
		set(accepted, false, conflict, with)
	case c.EtcdUnread && len(p.Spec.ControlPlane.EtcdNodeNames) > 0:
		setCondition(&st.Conditions, p.Generation, now, accepted, metav1.ConditionUnknown, api.EtcdQuorum,
			"etcd's pods in kube-system could not be read: nobody knows whether spec.controlPlane.etcdNodeNames has all members")
	case etcd != "":
		set(accepted, false, api.EtcdListDiffers, etcd)
	default:
		set(accepted, true, api.Understood, "every field was understood")
	}
	meta.RemoveStatusCondition(&st.Conditions, nodesPresent)
	if p.Spec.MissingNodes != nil || p.Spec.Machines != nil {
		present, words := presence(p, st.Missing, now)
		why = api.NodeMissing
		if present {
			why = api.AllPresent
		}
		if was := meta.FindStatusCondition(p.Status.Conditions, nodesPresent); was != nil {
			st.Conditions = append(st.Conditions, *was) // with its time
		}
		set(nodesPresent, present, why, words)
	}
}

// held says why a node is not being fenced: what the gate said of its open
// fence, or what it would say.
func held(p *api.FencePolicy, n Node, all []api.FencePolicy, c Picture) *api.HeldNode {
	r, _ := policy.ResolvePolicy(all, n.Name, n.Labels)
	h := &api.HeldNode{NodeName: n.Name}
	if r.Policy.Name != p.Name && r.Settings.Conflict != p.Name {
		return nil // another policy speaks of it
	}
	f, strange := c.fence(n.Name), policy.NotUnderstood(all, n.Labels, nil)
	switch {
	case f != nil && f.Open() && (f.CurrentPhase() == api.Pending || f.CurrentPhase() == api.Failed) && f.Status.Reason != "":
		h.Reason, h.Message = f.Status.Reason, f.Status.Message
	case strange != nil:
		h.Reason, h.Message = api.PolicyNotUnderstood, policy.PolicyWords(strange)
	case r.Settings.Conflict != "":
		h.Reason, h.Message = api.PolicyConflict, fence.ConflictWords(r)
	case n.ControlPlane && r.Settings.ControlPlane.Fence != api.WithQuorum:
		h.Reason, h.Message = api.ControlPlaneNode, "controlPlane.fence is Never"
	case r.Settings.Excluded != "":
		h.Reason, h.Message = api.Excluded, r.Settings.Excluded
	case n.Excluded != "":
		h.Reason, h.Message = api.Excluded, n.Excluded
	case n.Deleting != "":
		h.Reason, h.Message = api.NodeBeingDeleted, n.Deleting
	default:
		return nil
	}
	return h
}
