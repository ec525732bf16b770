package admission

import (
	"cmp"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// missingNow are a policy's expected nodes that are not among these. What was missing
// before keeps its time.
func missingNow(p *api.FencePolicy, c Picture, now time.Time) []api.MissingNode {
	if p.Spec.MissingNodes == nil && p.Spec.Machines == nil {
		return nil
	}
	there := map[string]bool{}
	for _, n := range c.Nodes {
		there[n.Name] = there[n.Name] || n.Under == nil
	}
	all := append(missingByName(p, there, now), missingOfMachines(p, c.Machines, there, now)...)
	holdMissing(p, c.Machines, all)
	holdRenamed(c, all)
	// Whatever is cut are Machines that have no node yet, before any node is.
	slices.SortStableFunc(all, func(a, b api.MissingNode) int {
		return cmp.Or(min(len(b.NodeName), 1)-min(len(a.NodeName), 1), strings.Compare(a.NodeName, b.NodeName), strings.Compare(machineOf(a), machineOf(b)))
	})
	return all
}

// missingByName are those that the policy expects by name. It notes each in there, so that
// none is listed twice.
func missingByName(p *api.FencePolicy, there map[string]bool, now time.Time) (all []api.MissingNode) {
	for _, node := range p.Spec.MissingNodes.Names() {
		if !there[node] {
			there[node] = true
			all = append(all, api.MissingNode{NodeName: node, Since: missingSince(p, node, now)})
		}
	}
	return all
}

// missingOfMachines are the nodes of the Machines that the policy expects, and the Machines
// that have no node yet. It notes each node in there, as missingByName does.
func missingOfMachines(p *api.FencePolicy, machines []policy.Machine, there map[string]bool, now time.Time) (all []api.MissingNode) {
	for i := range machines {
		m := &machines[i]
		if m.DeletionTimestamp != nil || !policy.Wants(p, m) {
			continue
		}
		missing := api.MissingNode{Machine: new(m.Ref()), Since: observed.StampOf(m.CreationTimestamp.Time)}
		if ref := m.Status.NodeRef; ref != nil {
			node := clip.To(clip.NameBytes, ref.Name) // no Node has a longer one
			if there[node] {
				continue
			}
			there[node] = true
			missing.NodeName, missing.Since = node, missingSince(p, node, now)
		}
		all = append(all, missing)
	}
	return all
}

// holdMissing has those left alone whose Machine has an annotation that asks for it. A node that the
// policy expects by name too is left alone with its Machine.
func holdMissing(p *api.FencePolicy, machines []policy.Machine, all []api.MissingNode) {
	for i := range machines {
		m := &machines[i]
		why := m.LeftAlone()
		if why == "" || !policy.Wants(p, m) {
			continue
		}
		for j := range all {
			ofIt := all[j].Machine != nil && all[j].Machine.String() == m.Ref().String()
			if ref := m.Status.NodeRef; ofIt || ref != nil && all[j].NodeName == clip.To(clip.NameBytes, ref.Name) {
				all[j].Held = "Machine " + m.Ref().String() + " is left alone: " + why
			}
		}
	}
}

// holdRenamed holds the missing nodes whose machine has joined under another name: a Node has
// the provider ID of the Machine (S2: what is unknown is never taken for off).
func holdRenamed(c Picture, missing []api.MissingNode) {
	ids := c.identities()
	for i := range missing {
		m := c.machineFor(missing[i])
		if missing[i].Held != "" || m == nil || m.Spec.ProviderID == "" {
			continue
		}
		for _, n := range ids {
			if n.Name != missing[i].NodeName && strings.EqualFold(n.ProviderID, m.Spec.ProviderID) {
				missing[i].Held = clip.Message("Machine " + m.Ref().String() + " has joined as another Node: Node " + n.Name + " has its provider ID")
			}
		}
	}
}

// machineFor returns the Machine of a missing node; nil if none was read.
func (c Picture) machineFor(missing api.MissingNode) *policy.Machine {
	for i := range c.Machines {
		m := &c.Machines[i]
		ofIt := missing.Machine != nil && missing.Machine.String() == m.Ref().String()
		if ref := m.Status.NodeRef; ofIt || ref != nil && clip.To(clip.NameBytes, ref.Name) == missing.NodeName {
			return m
		}
	}
	return nil
}

// MissingKept is how long a list of missing nodes tells since when, once nobody looks any more:
// a node may have come back since, and gone again.
const MissingKept = 5 * time.Minute

// StatusAge is how old a policy's status.observedAt may get while nothing else in the status changes. A much
// older one shows that nobody writes statuses any more.
const StatusAge = 2 * time.Minute

// missingSince is when the policy's status first had the node missing; now if it did not, or
// if nobody has looked for too long to tell.
func missingSince(p *api.FencePolicy, node string, now time.Time) api.Time {
	if at := p.Status.ObservedAt; at == nil || !observed.Fresh(at.Time, now, MissingKept) {
		return observed.StampOf(now)
	}
	for _, was := range p.Status.Missing {
		if was.NodeName == node {
			return was.Since
		}
	}
	return observed.StampOf(now)
}

// machineOf is the Machine that a missing node is expected of, in words; empty if of none.
func machineOf(m api.MissingNode) string {
	if m.Machine == nil {
		return ""
	}
	return m.Machine.String()
}

// presence is the words of condition NodesPresent.
func presence(p *api.FencePolicy, missing []api.MissingNode, now time.Time) (bool, string) {
	var late []string
	for _, m := range missing {
		wait, is := policy.Patience(p, m)
		if !is || now.Sub(m.Since.Time) < wait {
			continue
		}
		name := cmp.Or(m.NodeName, "Machine "+machineOf(m)) + " for " + wait.String()
		if m.Held != "" {
			name += " (held)"
		}
		late = append(late, name)
	}
	if len(late) > 0 {
		return false, "without a Node: " + strings.Join(late[:min(len(late), 8)], ", ")
	}
	return true, "none is missing for too long"
}

// Renewed has in each policy's status what is missing and failed by what was read. It is for
// policystatus, which writes that status, and for resync, which has nobody told
// of what only a status says: everybody else counts what is written there.
func (o Observed) Renewed(now time.Time) Observed {
	there := o.present()
	o.Policies = slices.Clone(o.Policies)
	for i := range o.Policies {
		was := &o.Policies[i]
		if !o.Knows(was) {
			continue // what was missing stays on record
		}
		p := was.DeepCopy()
		if !p.NotUnderstood.In("status.missing") {
			p.Status.Missing, p.Status.MissingCount = listed(missingNow(was, there, now))
		}
		if !p.NotUnderstood.In("status.failedMachines") {
			p.Status.FailedMachines, p.Status.FailedMachinesCount = listed(failedNow(was, there, now))
		}
		o.Policies[i] = *p
	}
	return o
}

// Knows tells whether all was read that says what is missing under a policy.
func (o Observed) Knows(p *api.FencePolicy) bool { return !o.MachinesUnread || p.Spec.Machines == nil }
