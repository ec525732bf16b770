package admission

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/hold"
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
	st.ObservedGeneration = p.Generation
	countSelected(lim, &st, c, l)
	st.Held, st.HeldCount = nil, 0
	st.LastDecisions = lastDecisions(p, c)
	st.StormSince, st.CoolDownUntil = stormOf(p, l, now)
	for _, n := range c.Nodes {
		if !isCounted(scopes(lim)[0], "", n) {
			continue
		}
		if h := held(p, n, all, c, l); h != nil && n.Under == nil {
			if st.HeldCount++; len(st.Held) < maxHeld {
				h.Message = clip.Message(h.Message)
				st.Held = append(st.Held, *h)
			}
		}
	}
	rooms := roomUnder(p, &st, c, l, now)
	st.FencesAllowed = rooms.fences
	st.Missing, st.MissingCount = listed(missingNow(p, c, now))
	conditionsOf(p, &st, all, c, l, rooms, now)
	st.Effective = inEffect(p, lim, &st, all, c, now)
	return st
}

// conditionsOf are FencingAllowed, Accepted, and NodesPresent where nodes are expected.
func conditionsOf(p *api.FencePolicy, st *api.FencePolicyStatus, all []api.FencePolicy, c Picture, l *api.FenceLedger, r rooms, now time.Time) {
	shut := policy.Closed([]policy.Windows{{Policy: p.Name, Windows: p.Spec.PauseWindows}}, c.Zones, now)
	allowed, why, words := mayFence(p, all, l, shut, r, now)
	tell(&st.Conditions, p.Generation, now, fencingAllowed, allowed, why, words)
	if !allowed {
		st.FencesAllowed = 0
	}
	is, why, words := acceptance(p, all, c, shut)
	setCondition(&st.Conditions, p.Generation, now, accepted, is, why, words)
	tellPresence(p, st, now)
}

// mayFence says whether a fence may begin under the policy now, in the order in which the gate asks: a person's
// brakes (S16), what is wrong with the policies, the pause windows, what holds all fences, and the room.
func mayFence(p *api.FencePolicy, all []api.FencePolicy, l *api.FenceLedger, shut *policy.Closure, r rooms, now time.Time) (bool, api.Reason, string) {
	wrong, strange := policy.Unclear(p), p
	if !p.NotUnderstood.Any() {
		strange = policy.Everywhere(all)
	}
	by, closed := policy.Pauses(p, now), heldForAll(l, now)
	switch stop, message := Stopped(l); {
	case stop != "":
		return false, stop, message
	case len(by) > 0:
		return false, api.Paused, "paused by " + strings.Join(by, ", ")
	case strange != nil:
		return false, api.PolicyNotUnderstood, policy.PolicyWords(strange)
	case wrong != "":
		return false, api.SelectorInvalid, wrong
	case shut != nil:
		return false, shut.Why, shut.Message
	case closed != nil:
		return false, closed.Reason, closed.Message
	case r.why != "":
		return false, r.why, r.words
	}
	return true, api.WithinLimits, r.words
}

// acceptance says whether the policy holds as it is written.
func acceptance(p *api.FencePolicy, all []api.FencePolicy, c Picture, shut *policy.Closure) (metav1.ConditionStatus, api.Reason, string) {
	wrong, etcd := wrongSelector(p), etcdListWords(p, c)
	conflict, with := conflicting(p, all, c)
	switch {
	case p.NotUnderstood.Any():
		return metav1.ConditionFalse, api.PolicyNotUnderstood, policy.PolicyWords(p)
	case wrong != "":
		return metav1.ConditionFalse, api.SelectorInvalid, wrong
	case shut != nil && shut.Why == api.PauseWindowInvalid:
		return metav1.ConditionFalse, shut.Why, shut.Message
	case conflict != "":
		return metav1.ConditionFalse, conflict, with
	case c.EtcdUnread && len(p.Spec.ControlPlane.EtcdNodeNames) > 0:
		return metav1.ConditionUnknown, api.EtcdQuorum,
			"etcd's pods in kube-system could not be read: nobody knows whether spec.controlPlane.etcdNodeNames has all members"
	case etcd != "":
		return metav1.ConditionFalse, api.EtcdListDiffers, etcd
	}
	return metav1.ConditionTrue, api.Understood, "every field was understood"
}

// wrongSelector says which selector of the policy can't be read; empty if each can.
func wrongSelector(p *api.FencePolicy) string {
	wrong := policy.Unclear(p)
	if x := p.Spec.Machines; x != nil && wrong == "" {
		if wrong = policy.Unreadable(p.Name, "spec.machines.selector", x.Selector); wrong != "" {
			wrong += "; it chooses no Machine until that is corrected"
		}
	}
	return wrong
}

// tellPresence sets NodesPresent where the policy expects nodes. It is removed where the
// policy does not.
func tellPresence(p *api.FencePolicy, st *api.FencePolicyStatus, now time.Time) {
	meta.RemoveStatusCondition(&st.Conditions, nodesPresent)
	if p.Spec.MissingNodes == nil && p.Spec.Machines == nil {
		return
	}
	present, words := presence(p, st.Missing, now)
	why := api.NodeMissing
	if present {
		why = api.AllPresent
	}
	if was := meta.FindStatusCondition(p.Status.Conditions, nodesPresent); was != nil {
		st.Conditions = append(st.Conditions, *was) // with its time
	}
	tell(&st.Conditions, p.Generation, now, nodesPresent, present, why, words)
}

// held says why a node is not being fenced: what the gate said of its open
// fence, or what it would say.
func held(p *api.FencePolicy, n Node, all []api.FencePolicy, c Picture, l *api.FenceLedger) *api.HeldNode {
	r, _ := policy.ResolvePolicy(all, n.Name, n.Labels)
	h := &api.HeldNode{NodeName: n.Name}
	if r.Policy.Name != p.Name && r.Settings.Conflict != p.Name {
		return nil // another policy speaks of it
	}
	f := c.fence(n.Name)
	in := hold.Input{Policy: r, Node: observed.Node{ControlPlane: n.ControlPlane, Plans: n.Plans}, Refuted: f.Refuted()}
	if strange := policy.NotUnderstood(all, n.Labels, nil); strange != nil {
		in.NotUnderstood = policy.PolicyWords(strange)
	}
	stands := hold.First(in, hold.ByPolicy, hold.ByNode)
	ended := abortedWords(f, n, l)
	switch {
	case f != nil && f.Open() && (f.CurrentPhase() == api.Pending || f.CurrentPhase() == api.Failed) && f.Status.Reason != "":
		h.Reason, h.Message = f.Status.Reason, f.Status.Message
	case stands != nil:
		h.Reason, h.Message = stands.Reason, stands.Message
	case ended != "":
		h.Reason, h.Message = api.Aborted, ended
	default:
		return nil
	}
	return h
}

// abortedWords say that a person has ended the last fence of a node that is not Ready, or an earlier
// one for which it is not Ready still; empty if nobody has.
func abortedWords(f *api.NodeFence, n Node, l *api.FenceLedger) string {
	if f == nil || f.Open() || !n.Unhealthy {
		return ""
	}
	const so = ": what was wrong then opens no other one; if it is to be fenced for that, ask for it by a FenceRequest"
	switch {
	case f.EndedByAPerson() && f.Status.Decision.NodeUID == n.UID:
		return fmt.Sprintf("a person aborted its fence %d", f.Status.FenceNumber) + so
	case n.NotReady != nil && f.AbortedBefore(n.UID, *n.NotReady, stillAt(l, n.Name)):
		return fmt.Sprintf("a person aborted a fence of it before fence %d", f.Status.FenceNumber) + so
	}
	return ""
}
