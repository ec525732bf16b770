package fence

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// maxHeld bounds a policy's list of nodes.
const maxHeld = 64

// PolicyStatus is what a policy says of itself: its nodes, whether a fence may
// begin, and for each node that is not being fenced, why. Nobody decides by it.
func PolicyStatus(p *api.FencePolicy, all []api.FencePolicy, c Cluster, l *api.FenceLedger, now time.Time) api.FencePolicyStatus {
	st := *p.Status.DeepCopy()
	lim := api.ScopedLimits{Policy: p.Name, Generation: p.Generation, Selector: p.Spec.Selector.Kubernetes(), Limits: p.Spec.Limits}
	st.FailedMachines = failedNow(p, c, now)
	c = c.withFailed(st.FailedMachines)
	bad := ailing(c, l)
	st.ObservedGeneration, st.Targets, st.Healthy, st.Unhealthy, st.InRemediation = p.Generation, 0, 0, 0, 0
	st.Held, st.Domains, st.AllowedNow = nil, nil, 0
	st.LastDecisions = lastDecisions(p, c)
	st.StormSince, st.CoolDownUntil = stormOf(p, l, now)
	domains := map[string]bool{}
	for _, n := range c.Nodes {
		if !Selects(p.Spec.Selector.Kubernetes(), n.Labels) {
			continue
		}
		st.Targets++
		if n.Unhealthy || bad[n.Name] {
			st.Unhealthy++
		}
		domains[c.domain(lim, n.Name)] = true
		if f := c.fence(n.Name); f != nil && f.Open() {
			st.InRemediation++
		}
		if h := held(p, n, all, c); h != nil && len(st.Held) < maxHeld {
			st.Held = append(st.Held, *h)
		}
	}
	st.Healthy = st.Targets - st.Unhealthy
	allowed, words := true, ""
	for domain := range domains {
		unhealthy, total := count(lim, domain, c, l)
		// The next failure is what is asked about: it counts too.
		no, numbers := mayBegin(lim.Limits, max(1, unhealthy), total)
		if lim.TopologyKey != "" {
			st.Domains = append(st.Domains, api.DomainStatus{Name: domain, Targets: int32(total), Unhealthy: int32(unhealthy), Message: numbers})
		}
		if no == api.StormHold {
			allowed = false
		} else {
			st.AllowedNow += int32(roomIn(lim, domain, c, l, now))
		}
		words = numbers
	}
	slices.SortFunc(st.Domains, func(a, b api.DomainStatus) int { return strings.Compare(a.Name, b.Name) })
	st.Domains = st.Domains[:min(len(st.Domains), maxHeld)]
	if lim.TopologyKey != "" && !allowed {
		words = "a fence may not begin in every domain: see status.domains"
	}
	st.Missing = missingNow(p, c, now)
	conditionsOf(p, &st, l, allowed, words, now)
	tellEffective(p, &st, all, c, now)
	return st
}

// expectedPresent is False while an expected node is missing for too long.
const expectedPresent = "ExpectedNodesPresent"

// conditionsOf are RemediationAllowed, in MachineHealthCheck's word, and Valid.
func conditionsOf(p *api.FencePolicy, st *api.FencePolicyStatus, l *api.FenceLedger, allowed bool, words string, now time.Time) {
	set := func(typ string, ok bool, why api.Reason, msg string) {
		status := metav1.ConditionFalse
		if ok {
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&st.Conditions, metav1.Condition{
			Type: typ, Status: status, Reason: string(why), Message: msg, ObservedGeneration: p.Generation,
			LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
		})
	}
	why := api.Admitted
	wrong := unclear(p)
	shut := closed([]Windows{{Policy: p.Name, Windows: p.Spec.PauseWindows}}, now)
	switch stop, message := Stopped(l); {
	case stop != "":
		allowed, why, words = false, stop, message
	case len(p.Spec.PauseRequests) > 0:
		allowed, why, words = false, api.PausedHold, "paused by "+strings.Join(p.Spec.PauseRequests, ", ")
	case wrong != "":
		allowed, why, words = false, api.SelectorInvalid, wrong
	case shut != nil:
		allowed, why, words = false, shut.why, shut.message
	case !allowed:
		why = api.StormHold
	default:
		for _, s := range l.Status.Storms {
			if s.Policy == p.Name && s.CoolDownUntil != nil && s.CoolDownUntil.After(now) && !waived(l, &s) {
				allowed, why, words = false, api.CoolDownHold, "after a storm, until "+s.CoolDownUntil.UTC().Format(time.RFC3339)
			}
		}
	}
	set("RemediationAllowed", allowed, why, words)
	if !allowed {
		st.AllowedNow = 0
	}
	if x := p.Spec.Machines; x != nil && wrong == "" {
		if wrong = unreadable(p.Name, "spec.machines.selector", x.Selector.Kubernetes()); wrong != "" {
			wrong += "; it chooses no Machine until that is corrected"
		}
	}
	switch {
	case wrong != "":
		set("Valid", false, api.SelectorInvalid, wrong)
	case shut != nil && shut.why == api.WindowInvalidHold:
		set("Valid", false, shut.why, shut.message)
	default:
		set("Valid", true, "Read", "every field was understood")
	}
	meta.RemoveStatusCondition(&st.Conditions, expectedPresent)
	if p.Spec.MissingNodes != nil || p.Spec.Machines != nil {
		present, words := presence(p, st.Missing, now)
		why = api.NodeMissingTold
		if present {
			why = "Present"
		}
		was := meta.FindStatusCondition(p.Status.Conditions, expectedPresent)
		if was != nil {
			st.Conditions = append(st.Conditions, *was) // with its time
		}
		set(expectedPresent, present, why, words)
	}
}

func (c Cluster) fence(node string) *api.NodeFence {
	for i := range c.Fences {
		if c.Fences[i].Spec.NodeName == node {
			return &c.Fences[i]
		}
	}
	return nil
}

// held says why a node is not being fenced: what the gate said of its open
// fence, or what it would say.
func held(p *api.FencePolicy, n ClusterNode, all []api.FencePolicy, c Cluster) *api.HeldNode {
	r, _ := ResolvePolicy(all, n.Name, n.Labels)
	h := &api.HeldNode{Node: n.Name}
	if r.Policy.Name != p.Name && r.Settings.Conflict != p.Name {
		return nil // another policy speaks of it
	}
	f := c.fence(n.Name)
	switch {
	case f != nil && f.Open() && (f.CurrentPhase() == api.Pending || f.CurrentPhase() == api.Failed) && f.Status.Reason != "":
		h.Reason, h.Message = f.Status.Reason, f.Status.Message
	case r.Settings.Conflict != "":
		h.Reason, h.Message = api.PolicyConflictHold, conflict(r)
	case n.ControlPlane && r.Settings.ControlPlane.Fence != api.WithQuorum:
		h.Reason, h.Message = api.ControlPlaneHold, "controlPlane.fence is Never"
	case r.Settings.Excluded != "":
		h.Reason, h.Message = api.ExcludedHold, r.Settings.Excluded
	case n.Excluded != "":
		h.Reason, h.Message = api.ExcludedHold, n.Excluded
	case n.Deleting != "":
		h.Reason, h.Message = api.DeletionHold, n.Deleting
	default:
		return nil
	}
	return h
}
