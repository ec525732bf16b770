package admission

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// A census is as old as the source's watches are behind. What it shows late is counted all
// the same, and what it has not seen yet is not taken for gone:
//   - the fence that asks, and its node, are as they were just read;
//   - so is all that counts for etcd's quorum (S13): nodes, fences and pods are read after the
//     ledger. A member that has failed, or has just joined, may not wait for a watch to tell of it;
//   - a slot is free again only by a look at its fence that is later than the slot, and never
//     because its fence is not listed (S14);
//   - a fence that the ledger has under way is over only if it was seen to end (S13, S14);
//   - if the node that was read is not Ready, and the census has it as healthy, others may have failed
//     with it: nothing is decided by that census. Nor is it while a fence has been opened since, on
//     a node that the census does not name (S14, S15);
//   - what the ledger lacks beside the census is put back by listing, never by the census.

// CensusKept is how old a census may be. The source writes it at least every ten seconds.
const CensusKept = 15 * time.Second

// CensusLacks says why nothing may be decided by the ledger's census; empty if it may.
func CensusLacks(l *api.FenceLedger, now time.Time) string {
	c := l.Status.Census
	switch {
	case c == nil:
		return "there is none"
	case !observed.Fresh(c.ObservedAt.Time, now, CensusKept):
		return "it is older than " + CensusKept.String()
	case l.NotUnderstood.Any():
		return "the ledger is not understood"
	case l.Status.Leases.Cut():
		return "the picture of the Leases does not name all that stand still"
	}
	named := map[string]bool{}
	for _, n := range c.Nodes {
		named[n.NodeName] = true
	}
	for _, s := range l.Status.Leases.Still {
		if !named[s.NodeName] {
			return "it does not name node " + s.NodeName + ", whose Lease stands still"
		}
	}
	return ""
}

// ByCensus is what was observed of the cluster, by the ledger's census and by what was just
// read: the fence that asks, its node, the policies and budgets that the census names, and
// the fences that ask beside it. For a policy that asks for a quorum, what counts for that was
// read too, after the ledger; for any other policy anew may be nil. lacks says why the cluster
// must be listed instead.
func ByCensus(l *api.FenceLedger, f *api.NodeFence, n observed.Node, beside []*api.NodeFence, anew *ReadAnew, policies []api.FencePolicy, budgets []api.FenceBudget, now time.Time) (o Observed, lacks string) {
	c := l.Status.Census
	if anew == nil {
		anew = &ReadAnew{}
		if f.Status.Decision.Settings.ControlPlane.Fence == api.WithQuorum {
			return o, "etcd's members were not read" // S13
		}
	}
	if lacks = unknownKey(c, f, policies, budgets); lacks != "" {
		return o, lacks
	}
	o = Observed{Policies: policies, Budgets: budgets, Etcd: anew.Etcd, AsOf: c.ObservedAt.Add(-CensusLag)}
	if o.Fences, lacks = fencesBy(l, slices.Concat(beside, anew.Fences, []*api.NodeFence{f}), now); lacks != "" {
		return o, lacks
	}
	if o.Nodes, lacks = nodesBy(c, anew.with(f.Spec.NodeName, n)); lacks == "" {
		lacks = cmp.Or(behind(c, f.Spec.NodeName, n), unnamedOpen(c, o), unnamedInRate(l, f))
	}
	return o, lacks
}

// behind says that the census has a node as healthy that was just read as not Ready. A node that is
// fenced while it is Ready, as a person has asked for, says nothing about the census.
func behind(c *api.Census, name string, n observed.Node) string {
	knows := slices.ContainsFunc(c.Nodes, func(is api.CountedNode) bool { return is.NodeName == name && is.Unhealthy })
	if knows || !n.Exists || n.Ready() {
		return ""
	}
	return "it has node " + name + " as healthy, which is not Ready"
}

// unnamedOpen says which fence has been opened since the census, on a node that the census does not
// name. That node counts as unhealthy, and its labels alone say for whom (S14). If the census shows the
// fence as open, and no node of its name, there was none.
func unnamedOpen(c *api.Census, o Observed) string {
	named := map[string]bool{}
	for _, n := range NewPicture(o).Nodes {
		named[n.Name] = true
	}
	for i := range c.Fences {
		if f := fenceOf(&c.Fences[i]); f.Open() {
			named[f.Spec.NodeName] = true
		}
	}
	for i := range o.Fences {
		if f := &o.Fences[i]; f.Open() && !named[f.Spec.NodeName] {
			return "it does not name node " + f.Spec.NodeName + ", whose fence is open"
		}
	}
	return ""
}

// unknownKey says which label is asked for that the census does not keep.
func unknownKey(c *api.Census, f *api.NodeFence, policies []api.FencePolicy, budgets []api.FenceBudget) string {
	asked := map[string]bool{}
	for _, lim := range f.Status.Decision.Limits {
		keysOf(lim.Selector, asked)
		if d := lim.PerDomain; d != nil {
			asked[d.TopologyKey] = true
		}
	}
	for _, key := range labelKeys(policies, budgets) {
		asked[key] = true
	}
	delete(asked, "")
	for key := range asked {
		if !slices.Contains(c.LabelKeys, key) {
			return "it does not keep label " + key
		}
	}
	return ""
}

// nodesBy are the census's nodes, with some as they were just read.
func nodesBy(c *api.Census, read map[string]*Node) (all []Node, lacks string) {
	counted := map[string]bool{}
	for _, is := range c.Nodes {
		if _, anew := read[is.NodeName]; anew {
			counted[is.NodeName] = true
			continue
		}
		all = append(all, Node{Name: is.NodeName, UID: is.NodeUID, Labels: is.Labels, Unhealthy: is.Unhealthy, ControlPlane: is.ControlPlane})
	}
	names := slices.Sorted(maps.Keys(read))
	for _, a := range c.Alike {
		count := int(a.Count)
		for _, name := range names {
			if n := read[name]; n != nil && !counted[name] && count > 0 && likeness(a.Labels) == likeness(kept(n.Labels, c.LabelKeys)) {
				count, counted[name] = count-1, true
			}
		}
		if count > 0 {
			all = append(all, Node{Labels: a.Labels, Alike: count})
		}
	}
	for _, name := range names {
		n := read[name]
		if (n != nil) != counted[name] {
			return nil, "it has not seen node " + name + " as it is"
		}
		if n != nil {
			all = append(all, *n)
		}
	}
	return all, ""
}

// fencesBy are the open fences: those of the census, those that were read, the last look at each,
// and those that have a slot, or were let drain, which the census has not seen yet.
func fencesBy(l *api.FenceLedger, read []*api.NodeFence, now time.Time) (all []api.NodeFence, lacks string) {
	byNode, c := map[string]api.NodeFence{}, l.Status.Census
	for i := range c.Fences {
		byNode[c.Fences[i].NodeName] = fenceOf(&c.Fences[i])
	}
	for _, r := range l.Status.Reservations {
		if r.FenceVersion == "" || r.CountedBy == nil {
			return nil, "the slot of node " + r.NodeName + " does not say for which record, or by which limits, it was reserved"
		}
		f, known := withSlot(byNode[r.NodeName], r)
		if !known && now.Sub(r.At.Time) > slotKept(r) {
			return nil, "it does not know what became of the slot of node " + r.NodeName
		}
		byNode[r.NodeName] = f
	}
	if lacks = withDrains(byNode, l, now); lacks != "" {
		return nil, lacks
	}
	for _, f := range read {
		byNode[f.Spec.NodeName] = *f
	}
	for _, f := range byNode {
		if f.Spec.NodeName != "" {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b api.NodeFence) int { return cmp.Compare(a.Spec.NodeName, b.Spec.NodeName) })
	for i := range all {
		f := &all[i]
		if _, has := reservationOf(l.Status.Reservations, f); f.HoldsSlot() && !has {
			return nil, "the ledger has no slot of node " + f.Spec.NodeName + ", which holds one"
		}
		if underWay(f, l) && underWayOf(l.Status.UnderWay, f) == nil {
			return nil, "the ledger does not say what node " + f.Spec.NodeName + " counts for, whose fence is under way"
		}
	}
	return all, lacksUnderWay(l, byNode)
}

// fenceOf is a fence with what the census keeps of it.
func fenceOf(c *api.CountedFence) api.NodeFence {
	f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: c.NodeName, UID: c.FenceUID, ResourceVersion: c.Version}}
	f.Spec.NodeName = c.NodeName
	st := &f.Status
	st.FenceNumber, st.Phase, st.DecidedAt, st.GivenBack, st.Power.CutAt = c.FenceNumber, c.Phase, c.DecidedAt, c.GivenBack, c.CutAt
	st.WouldBeginAt, st.WouldDrainAt = c.WouldBeginAt, c.WouldDrainAt
	st.Decision.NodeUID = unknownUID
	for _, m := range c.Marks {
		switch m {
		case api.FenceAwaited:
			st.Awaited = &api.AwaitedRecord{}
		case api.FenceSwitchedByUs:
			st.Power.SwitchedByUs = true
		case api.FenceReleasing:
			st.Release.StartedAt = &api.Time{}
		case api.FenceRestarted:
			st.Restarts = 1
		case api.FenceDrained:
			st.Drain = &api.DrainRecord{}
		case api.FenceServed:
			st.CutOrReleased = true
		case api.FenceAsked:
			st.Decision.Trigger.Type = api.TriggerRequest
		case api.FenceWithoutNode:
			st.Decision.NodeUID = ""
		case api.FenceDeleted:
			f.DeletionTimestamp, f.Finalizers = &metav1.Time{}, []string{api.Finalizer}
		case api.FenceMissing:
			st.Decision.Trigger.Type = api.TriggerNodeMissing
		}
	}
	for _, p := range c.MissingUnder {
		st.Decision.Limits = append(st.Decision.Limits, api.ScopedLimits{Policy: p})
	}
	return f
}
