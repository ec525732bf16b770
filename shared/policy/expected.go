package policy

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Overdue returns the nodes that have been missing for longer than their policy allows, and that
// nobody has left alone.
func Overdue(p *api.FencePolicy, now time.Time) (all []api.MissingNode) {
	for _, m := range p.Status.Missing {
		if wait, is := Patience(p, m); is && m.Held == "" && now.Sub(m.Since.Time) >= wait {
			all = append(all, m)
		}
	}
	return all
}

// HeldMissing says why a missing node is left alone, by whatever policy; empty if it is not.
func HeldMissing(policies []api.FencePolicy, node string) string {
	for i := range policies {
		for _, m := range policies[i].Status.Missing {
			if _, is := Patience(&policies[i], m); is && m.NodeName == node && m.Held != "" {
				return m.Held
			}
		}
	}
	return ""
}

// Patience is how long this node may be missing; false if the policy expects it no more.
func Patience(p *api.FencePolicy, m api.MissingNode) (time.Duration, bool) {
	if x := p.Spec.Machines; m.Machine != nil && x != nil {
		return x.StartupTimeout.Or(DefaultMissing).Duration, true
	}
	if x := p.Spec.MissingNodes; m.Machine == nil && x != nil {
		return x.Duration.Or(DefaultMissing).Duration, true
	}
	return 0, false
}

// Names reports whether a policy expects a node by name.
func Names(p *api.FencePolicy, node string) bool {
	return slices.Contains(p.Spec.MissingNodes.Names(), node)
}

// Wants reports whether a policy expects the node of a Machine. Without a selector it
// expects none.
func Wants(p *api.FencePolicy, m *Machine) bool {
	x := p.Spec.Machines
	return x != nil && x.Selector != nil && Chooses(x.Selector, m.Labels) && (x.Namespace == "" || x.Namespace == m.Namespace)
}

// EveryNode replaces a policy's own selector if its nodes are known otherwise.
var EveryNode = &api.LabelSelector{}

// ResolveMissing is ResolvePolicy for a missing node. A missing node has no labels, so the
// policies that expect it decide. The limits of policies that would select a node without
// labels hold too. One that is left alone under any policy is fenced under none.
func ResolveMissing(policies []api.FencePolicy, node string, now time.Time) (r api.ResolvedPolicy, t api.Trigger, ok bool) {
	if HeldMissing(policies, node) != "" {
		return r, t, false
	}
	var mine []api.FencePolicy
	selectors := map[string]*api.LabelSelector{}
	for _, p := range policies {
		for _, m := range Overdue(&p, now) {
			if m.NodeName != node || m.Machine == nil && !Names(&p, node) {
				continue
			}
			selectors[p.Name] = CountedOver(p.Spec.Selector)
			p.Spec.Selector = EveryNode
			mine = append(mine, p)
			if t.Type == "" || m.Since.Before(&t.Since) {
				t = api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}, Since: m.Since, Reason: "no Node object"}
				t.NodeMissing.Duration.Duration, _ = Patience(&p, m)
				if m.Machine != nil {
					t.Reason += " for Machine " + m.Machine.String()
				}
			}
			break
		}
	}
	r, ok = resolveAmong(policies, mine, selectors, node)
	return r, t, ok
}
