package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// A fence that is under way counts by what its node was known to be since it began. By
// its labels as they are a node would be forgotten as soon as its Node object is deleted,
// which may be what the fence is for, or gets another label: a FenceBudget of one would
// then let a whole set be taken down (S14), and a second node of the control plane could
// go beside the first (S13).

// underWay: the fence has been given a slot, and has not ended. Its flow may have begun
// anew since, and wait for another one.
func underWay(f *api.NodeFence, l *api.FenceLedger) bool {
	st := &f.Status
	again := st.Restarts > 0 || st.Begun() || drained(st)
	return acts(f, l) || f.Open() && again
}

// drained: its node gave its pods away, or some of them, and is not given back.
func drained(st *api.NodeFenceStatus) bool {
	return st.Drain != nil && st.Drain.Ended != api.DrainGivenUp
}

// acts: it does not wait for a slot now. One that has drained waits: were it to act, two of them
// would wait for each other.
func acts(f *api.NodeFence, l *api.FenceLedger) bool {
	_, let := reservationOf(l.Status.Draining, f)
	drains := let && !drained(&f.Status)
	return f.Open() && (f.CurrentPhase() != api.Pending || drains || ReservedAt(l, f) != nil)
}

// onlyDrains: no more has been done, or is being done, than that its node is emptied.
func onlyDrains(f *api.NodeFence, l *api.FenceLedger) bool {
	_, let := reservationOf(l.Status.Draining, f)
	waits := f.CurrentPhase() == api.Pending && !f.Status.Begun() && ReservedAt(l, f) == nil
	return f.CurrentPhase() == api.Draining || waits && (let || drained(&f.Status))
}

// Emptied tells whether a fence takes room to drain: its node drains, or has drained and waits for its
// first slot.
func Emptied(f *api.NodeFence) bool {
	p := f.CurrentPhase()
	return p == api.Draining || p == api.Pending && drained(&f.Status) && !f.Status.Begun()
}

// rebuildDraining drops what the ledger says of fences that drain no more, and puts back those that
// it has lost. A node that has drained counts as long as its fence waits for a slot: it has given its
// work away, and a powerDelay or a limit may keep it there for long. A fence that was let drain a moment
// ago may be about to: one that is seen Pending counts for as long as a reservation does.
func rebuildDraining(l *api.FenceLedger, c Picture, now time.Time) {
	old, seen, asOf := l.Status.Draining, map[string]bool{}, now
	if !c.AsOf.IsZero() {
		asOf = c.AsOf
	}
	kept := func(r api.Reservation) bool { return asOf.Sub(r.At.Time) <= slotKept(r)+c.Apart }
	l.Status.Draining = nil
	for i := range c.Fences {
		f := &c.Fences[i]
		r, found := reservationOf(old, f)
		drains := Emptied(f)
		if drains && !found {
			r, found = reservation(f, c, now), true
		}
		if found && (drains || f.CurrentPhase() == api.Pending && kept(r)) {
			l.Status.Draining, seen[r.NodeName] = append(l.Status.Draining, r), true
		}
	}
	for _, r := range old {
		if f := c.fence(r.NodeName); !seen[r.NodeName] && (f == nil || before(f, r)) && kept(r) && !observed.Ahead(r.At.Time, now) {
			l.Status.Draining = append(l.Status.Draining, r) // its record is newer than the picture
		}
	}
}

// placeUnderWay says of each such fence what its node counts for, and drops what was
// said of others. It goes after rebuild.
func placeUnderWay(l *api.FenceLedger, c Picture) {
	old := l.Status.UnderWay
	l.Status.UnderWay = nil
	for i := range c.Fences {
		if f := &c.Fences[i]; underWay(f, l) {
			place(l, f, c, underWayOf(old, f))
		}
	}
}

// place keeps what a fence's node was before, and what it is now. Where neither can be known, it
// counts as all until its fence has ended: with nothing kept of it, a census that shows its fence
// late would not show that something is unknown.
func place(l *api.FenceLedger, f *api.NodeFence, c Picture, was *api.UnderWay) {
	n, known := c.nodeOf(f)
	if was == nil && !known {
		was = &api.UnderWay{ControlPlane: true, Budgets: []string{allBudgets}}
	}
	u := api.UnderWay{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber}
	u.ControlPlane = was != nil && was.ControlPlane || n.ControlPlane || c.isMember(f.Spec.NodeName) ||
		f.Status.Decision.Settings.ControlPlane.SelectedBy != ""
	for i := range c.Budgets {
		name := c.Budgets[i].Name
		if was != nil && slices.Contains(was.Budgets, name) || known && policy.Selects(c.Budgets[i].Spec.Selector, n.Labels) {
			u.Budgets = append(u.Budgets, name)
		}
	}
	if len(u.Budgets) > maxBudgets || was != nil && slices.Contains(was.Budgets, allBudgets) {
		u.Budgets = []string{allBudgets}
	}
	l.Status.UnderWay = append(l.Status.UnderWay, u)
}

const (
	// maxBudgets bounds the names kept of one fence, as the schema does; allBudgets stands
	// for more and for unknown ones, and is the name of none.
	maxBudgets = 64
	allBudgets = "*"
)

func underWayOf(all []api.UnderWay, f *api.NodeFence) *api.UnderWay {
	for i := range all {
		if u := &all[i]; u.FenceUID == f.UID && u.FenceNumber == f.Status.FenceNumber {
			return u
		}
	}
	return nil
}

// lacksUnderWay says which fence that the ledger has under way is shown otherwise, though it was
// not seen to end: it may have gone on since it was seen, and its slot may be free again. What the
// ledger says of its node would be lost, which nobody knows any more if the Node object is gone.
// A fence that has ended does not begin again under its number.
func lacksUnderWay(l *api.FenceLedger, shown map[string]api.NodeFence) string {
	for _, u := range l.Status.UnderWay {
		f := shown[u.NodeName]
		same, number := f.UID == u.FenceUID, f.Status.FenceNumber
		ended := same && (number > u.FenceNumber || number == u.FenceNumber && !f.Open())
		if !ended && !(same && number == u.FenceNumber && underWay(&f, l)) {
			return "it does not show the fence of node " + u.NodeName + ", which is under way, or that it has ended"
		}
	}
	return ""
}

// chose tells whether this budget counts the node of a fence that is under way, which it
// does not choose by its labels as they are. A node that nobody knows, because the
// ledger was lost, counts in each.
func chose(b *api.FenceBudget, f *api.NodeFence, c Picture, l *api.FenceLedger) bool {
	if was := underWayOf(l.Status.UnderWay, f); was != nil {
		return slices.Contains(was.Budgets, b.Name) || slices.Contains(was.Budgets, allBudgets)
	}
	_, known := c.nodeOf(f)
	return !known
}

// wasPlane tells whether the node of a fence that is under way was of the control plane.
// What nobody knows any more is taken for a yes.
func wasPlane(f *api.NodeFence, c Picture, l *api.FenceLedger) bool {
	if was := underWayOf(l.Status.UnderWay, f); was != nil {
		return was.ControlPlane
	}
	_, known := c.nodeOf(f)
	return !known
}
