package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Watched is what the source sees of all that is counted.
type Watched struct {
	Nodes    []Node
	Fences   []*api.NodeFence
	Policies []api.FencePolicy
	Budgets  []api.FenceBudget
	// Leases is the picture that the ledger has beside the census.
	Leases api.LeasePicture
	// Admitted are the fences that the ledger keeps for rates.
	Admitted []api.Reservation
	// Closed are fences that are closed, of nodes that have a slot in the ledger, or a fence under way.
	Closed []api.CountedFence
	// Source is the name of who watches.
	Source string
}

// TakeCensus counts what is watched, and names whatever decisions must know by name. It is
// nil where a census does not hold it all: then the cluster is listed for each decision.
func TakeCensus(w Watched, now time.Time) *api.Census {
	c := w.census(now)
	if beyond(c) != "" {
		return nil
	}
	return c
}

// Beyond says of what there is more than a census holds; empty if of nothing.
func (w Watched) Beyond() string { return beyond(w.census(time.Time{})) }

func beyond(c *api.Census) string {
	for _, x := range []struct {
		are, may int
		what     string
	}{
		{len(c.Policies), api.MaxCensusObjects, "FencePolicies"}, {len(c.Budgets), api.MaxCensusObjects, "FenceBudgets"},
		{len(c.LabelKeys), api.MaxCensusKeys, "labels that these ask for"}, {len(c.Alike), api.MaxCensusAlike, "kinds of healthy nodes, by these labels"},
		{len(c.Nodes), api.MaxCensusNodes, "nodes by name, most of them unhealthy"}, {len(c.Fences), api.MaxCensusFences, "fences"},
	} {
		if x.are > x.may {
			return fmt.Sprintf("%d %s, and a census holds %d", x.are, x.what, x.may)
		}
	}
	return ""
}

// census is one of all that is watched, however much that is.
func (w Watched) census(now time.Time) *api.Census {
	c := &api.Census{ObservedAt: observed.StampOf(now), Source: w.Source, LabelKeys: labelKeys(w.Policies, w.Budgets)}
	for i := range w.Policies {
		c.Policies = append(c.Policies, w.Policies[i].Name)
	}
	for i := range w.Budgets {
		c.Budgets = append(c.Budgets, w.Budgets[i].Name)
	}
	slices.Sort(c.Policies)
	slices.Sort(c.Budgets)
	named := toName(w)
	for _, f := range w.Fences {
		if f.Open() {
			c.Fences = append(c.Fences, CountedFence(f))
		}
	}
	for _, f := range w.Closed {
		if !slices.ContainsFunc(c.Fences, func(open api.CountedFence) bool { return open.NodeName == f.NodeName }) {
			c.Fences = append(c.Fences, f)
		}
	}
	slices.SortFunc(c.Fences, func(a, b api.CountedFence) int { return cmp.Compare(a.NodeName, b.NodeName) })
	countNodes(c, w.Nodes, named)
	return c
}

// countNodes counts those that are alike, and lists the others.
func countNodes(c *api.Census, nodes []Node, named map[string]bool) {
	alike, order := map[string]*api.AlikeNodes{}, []string{}
	for _, n := range nodes {
		labels := kept(n.Labels, c.LabelKeys)
		if n.Unhealthy || n.ControlPlane || named[n.Name] {
			c.Nodes = append(c.Nodes, api.CountedNode{NodeName: n.Name, NodeUID: n.UID, Labels: labels, Unhealthy: n.Unhealthy, ControlPlane: n.ControlPlane})
			continue
		}
		id := likeness(labels)
		if alike[id] == nil {
			alike[id] = &api.AlikeNodes{Labels: labels}
			order = append(order, id)
		}
		alike[id].Count++
	}
	slices.Sort(order)
	for _, id := range order {
		c.Alike = append(c.Alike, *alike[id])
	}
	slices.SortFunc(c.Nodes, func(a, b api.CountedNode) int { return cmp.Compare(a.NodeName, b.NodeName) })
}

// toName are the nodes that must be known by name though they may be healthy: those with an
// open fence, with a Lease that stands still, those that rates may count, and those that a
// policy lists as missing, as having a failed Machine, or as etcd's.
func toName(w Watched) map[string]bool {
	named := map[string]bool{}
	for _, f := range w.Fences {
		if f.Open() {
			named[f.Spec.NodeName] = true
		}
	}
	for _, s := range w.Leases.Still {
		named[s.NodeName] = true
	}
	for _, a := range w.Admitted {
		named[a.NodeName] = true
	}
	for i := range w.Policies {
		p := &w.Policies[i]
		for _, m := range p.Status.Missing {
			named[m.NodeName] = true
		}
		for _, m := range p.Status.FailedMachines {
			named[m.NodeName], named[m.Record()] = true, true
		}
		for _, n := range p.Spec.ControlPlane.EtcdNodeNames {
			named[n] = true
		}
	}
	return named
}

// kept are the labels of these keys; nil if there is none.
func kept(labels map[string]string, keys []string) (some map[string]string) {
	for _, key := range keys {
		if value, has := labels[key]; has {
			if some == nil {
				some = map[string]string{}
			}
			some[key] = value
		}
	}
	return some
}

// likeness is equal for nodes of which a census keeps the same labels.
func likeness(labels map[string]string) string {
	if len(labels) == 0 {
		return "" // of most nodes
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(key + "=" + labels[key] + ",") // a label has neither of these signs
	}
	return b.String()
}

// SameCensus tells whether two say the same, whatever their age and how far they have seen.
func SameCensus(a, b *api.Census) bool {
	if a == nil || b == nil {
		return a == b
	}
	same := func(x, y []api.CountedFence) bool {
		return slices.EqualFunc(x, y, func(x, y api.CountedFence) bool {
			x.Version, y.Version = "", ""
			return equalFences(x, y)
		})
	}
	return slices.Equal(a.LabelKeys, b.LabelKeys) && slices.Equal(a.Policies, b.Policies) && slices.Equal(a.Budgets, b.Budgets) &&
		slices.EqualFunc(a.Alike, b.Alike, func(x, y api.AlikeNodes) bool { return x.Count == y.Count && maps.Equal(x.Labels, y.Labels) }) &&
		slices.EqualFunc(a.Nodes, b.Nodes, equalNodes) && same(a.Fences, b.Fences)
}

func equalNodes(x, y api.CountedNode) bool {
	return x.NodeName == y.NodeName && x.NodeUID == y.NodeUID && x.Unhealthy == y.Unhealthy && x.ControlPlane == y.ControlPlane && maps.Equal(x.Labels, y.Labels)
}

func equalFences(x, y api.CountedFence) bool {
	return x.NodeName == y.NodeName && x.FenceUID == y.FenceUID && x.FenceNumber == y.FenceNumber && x.Version == y.Version && x.Phase == y.Phase &&
		x.DecidedAt.Equal(y.DecidedAt) && x.GivenBack.Equal(y.GivenBack) && x.WouldBeginAt.Equal(y.WouldBeginAt) && x.WouldDrainAt.Equal(y.WouldDrainAt) && x.CutAt.Equal(y.CutAt) &&
		slices.Equal(x.Marks, y.Marks) && slices.Equal(x.MissingUnder, y.MissingUnder)
}

// marksOf says in which order the marks stand, and when each does.
func marksOf(f *api.NodeFence) (all []api.FenceMark) {
	st := &f.Status
	for _, m := range []struct {
		mark api.FenceMark
		is   bool
	}{
		{api.FenceAwaited, st.Awaited != nil},
		{api.FenceSwitchedByUs, st.Power.SwitchedByUs},
		{api.FenceReleasing, st.Release.StartedAt != nil},
		{api.FenceRestarted, st.Restarts > 0},
		{api.FenceDrained, drained(st)},
		{api.FenceServed, facts.Served(st)},
		{api.FenceAsked, st.Decision.Trigger.Asked()},
		{api.FenceWithoutNode, st.Decision.NodeUID == ""},
		{api.FenceDeleted, f.DeletionTimestamp != nil},
		{api.FenceMissing, st.Decision.Trigger.Missing()},
	} {
		if m.is {
			all = append(all, m.mark)
		}
	}
	return all
}

// CountedFence is a fence as the census has it.
func CountedFence(f *api.NodeFence) api.CountedFence {
	st := &f.Status
	c := api.CountedFence{
		NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: st.FenceNumber, Version: f.ResourceVersion, Phase: f.CurrentPhase(),
		DecidedAt: st.DecidedAt, GivenBack: st.GivenBack, WouldBeginAt: st.WouldBeginAt, WouldDrainAt: st.WouldDrainAt, CutAt: st.Power.CutAt, Marks: marksOf(f),
	}
	if st.Decision.Trigger.Missing() {
		for _, l := range st.Decision.Limits {
			c.MissingUnder = append(c.MissingUnder, l.Policy)
		}
	}
	return c
}
