package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// A fence under a policy in mode DryRun asks what it would ask under Enforce, in the same order, and reserves in a
// list of its own. The answer counts the reservations of other dry runs beside the real ones.

// Question is what a fence asks of the ledger.
type Question int

// The questions.
const (
	// ForSlot asks for a slot.
	ForSlot Question = iota
	// ForDrain asks whether the node may be drained.
	ForDrain
	// ForChecks asks whether a round of checks may begin.
	ForChecks
)

// AdmitDryRun answers a fence under a policy in mode DryRun as Admit, AdmitDrain or AdmitChecks would answer it under
// Enforce. The slot or the drain is reserved in status.dryRuns of the ledger, and nowhere else; a round of checks
// reserves nothing. As with Admit, storms begin and end in the ledger whichever answer is given (S15): a storm under
// DryRun is known once the mode is Enforce. fences are all fences, for a round of checks.
func AdmitDryRun(q Question, f *api.NodeFence, fences []api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	held := heldNow(f, c, l, now)
	if said := saidDryRun(f, c); said != nil && q != ForChecks && said.Drain == (q == ForDrain) {
		if !isSame(DryRunOf(l, f), said) {
			reserveDryRun(l, *said) // the record has it, and the ledger another one, or none
		}
		return nil
	}
	if held != nil {
		return held
	}
	with := withDryRuns(l, c)
	for _, limit := range limitsOf(q, fences) {
		if v := limit(f, c, with, now); v != nil {
			return v
		}
	}
	if q != ForChecks {
		reserveDryRun(l, api.DryReservation{Reservation: reservation(f, c, now), Drain: q == ForDrain})
	}
	return nil
}

// limitsOf returns the limits that are asked for a question, in their order.
func limitsOf(q Question, fences []api.NodeFence) []limit {
	all := slices.Clone(toBegin)
	switch q {
	case ForDrain:
		all = append(all, roomToDrain)
	case ForChecks:
		all = append(all, roomForJobsBeside(fences))
	}
	return all
}
