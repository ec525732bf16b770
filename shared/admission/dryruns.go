package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The list of dry reservations. Nobody but a dry run counts them: a real fence is admitted as if there were none (S14).

// withDryRuns returns a copy of the ledger in which dry reservations are real ones. The copy is asked and thrown away.
func withDryRuns(l *api.FenceLedger, c Picture) *api.FenceLedger {
	with := l.DeepCopy()
	st := &with.Status
	has := func(all []api.Reservation, node string) bool {
		return slices.ContainsFunc(all, func(r api.Reservation) bool { return r.NodeName == node })
	}
	for _, r := range l.Status.DryRuns {
		switch {
		case r.Drain && !has(st.Draining, r.NodeName):
			st.Draining = append(st.Draining, r.Reservation)
		case !r.Drain && !has(st.Reservations, r.NodeName):
			st.Reservations, st.Admitted = append(st.Reservations, r.Reservation), append(st.Admitted, r.Reservation)
		}
	}
	placeUnderWay(with, c)
	return with
}

// maxDryRuns bounds the list, as its schema does: a list that the API server refuses would hold real fences too.
const maxDryRuns = 2 * maxSlots

// reserveDryRun puts a dry reservation in the place of an earlier one of the node.
func reserveDryRun(l *api.FenceLedger, r api.DryReservation) {
	dropDryRun(l, r.NodeName)
	if len(l.Status.DryRuns) < maxDryRuns {
		l.Status.DryRuns = append(l.Status.DryRuns, r)
	}
}

// dropDryRun removes the dry reservation of a node.
func dropDryRun(l *api.FenceLedger, node string) {
	l.Status.DryRuns = slices.DeleteFunc(l.Status.DryRuns, func(r api.DryReservation) bool { return r.NodeName == node })
}

// DryRunOf returns the dry reservation of a fence; nil if it has none.
func DryRunOf(l *api.FenceLedger, f *api.NodeFence) *api.DryReservation {
	return dryRunIn(l.Status.DryRuns, f)
}

func dryRunIn(all []api.DryReservation, f *api.NodeFence) *api.DryReservation {
	for i := range all {
		if r := &all[i]; r.NodeName == f.Spec.NodeName && r.FenceUID == f.UID && r.FenceNumber == f.Status.FenceNumber {
			return r
		}
	}
	return nil
}

// rebuildDryRuns drops the dry reservations of fences that are dry runs no more, and puts back those that records
// have and the ledger has lost. A reservation that its record does not have counts for as long as a slot of which
// nothing came: the record may be about to be saved.
func rebuildDryRuns(l *api.FenceLedger, c Picture, now time.Time) {
	old, asOf, seen := l.Status.DryRuns, now, map[string]bool{}
	if !c.AsOf.IsZero() {
		asOf = c.AsOf
	}
	l.Status.DryRuns = nil
	isFresh := func(r *api.DryReservation) bool {
		return !observed.Ahead(r.At.Time, now) && asOf.Sub(r.At.Time) <= slotKept(r.Reservation)+c.Apart
	}
	for i := range c.Fences {
		f := &c.Fences[i]
		r := dryRunIn(old, f)
		if r != nil {
			seen[r.NodeName] = true
		}
		if counts := countedDryRun(f, r, saidDryRun(f, c), isFresh); counts != nil {
			reserveDryRun(l, *counts)
		}
	}
	for i := range old {
		r := &old[i]
		f := c.fence(r.NodeName)
		if late := f == nil || before(f, r.Reservation); !seen[r.NodeName] && late && isFresh(r) {
			reserveDryRun(l, *r) // its record is newer than the picture
		}
	}
}

// countedDryRun returns which dry reservation of a fence counts: that of the ledger, where the record has the same one,
// or the ledger a newer one; that of the record otherwise; nil if there is none, or the fence is no dry run.
func countedDryRun(f *api.NodeFence, r, said *api.DryReservation, isFresh func(*api.DryReservation) bool) *api.DryReservation {
	if !rehearses(f) {
		return nil
	}
	newer := r != nil && isFresh(r) && !givenBack(r.Reservation, f) && (said == nil || r.At.After(said.At.Time))
	if newer || isSame(r, said) {
		return r
	}
	return said
}

// isSame tells whether two dry reservations of a fence are one.
func isSame(r, said *api.DryReservation) bool {
	return r != nil && said != nil && r.Drain == said.Drain && r.At.Equal(&said.At)
}

// rehearses tells whether a fence waits, and may be a dry run. A census does not have the mode.
func rehearses(f *api.NodeFence) bool {
	mode := f.Status.Decision.Settings.Mode
	return f.Open() && f.CurrentPhase() == api.Pending && (mode == "" || mode == api.ModeDryRun)
}

// saidDryRun returns the dry reservation that a record has; nil if it has none.
func saidDryRun(f *api.NodeFence, c Picture) *api.DryReservation {
	at, drain := f.Status.WouldBeginAt, false
	if at == nil {
		at, drain = f.Status.WouldDrainAt, true
	}
	if at == nil {
		return nil
	}
	return &api.DryReservation{Reservation: reservation(f, c, at.Time), Drain: drain}
}
