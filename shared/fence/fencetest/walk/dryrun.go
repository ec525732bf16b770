package walk

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What a walk adds for a policy in mode DryRun: the fence waits at the gate until its node has healed, does nothing,
// and says that it would begin only while the ledger has a dry reservation of it.

func (s *State) isDry() bool { return s.spec.Decision.Settings.Mode == api.ModeDryRun }

// dryLooks are the dry reservations that the ledger may show, and the gate's yes to dry checks.
func dryLooks(s *State, now time.Time, with func(func(*observed.Look))) {
	if !s.isDry() || s.st.Phase != "" && s.st.Phase != api.Pending {
		return
	}
	has := []observed.DryRun{{At: now}, {At: now, Drain: true}, {At: now.Add(-time.Hour)}}
	for _, t := range []*api.Time{s.st.WouldBeginAt, s.st.WouldDrainAt, s.st.GivenBack} {
		if t != nil {
			has = append(has, observed.DryRun{At: t.Time}, observed.DryRun{At: t.Time, Drain: true})
		}
	}
	for _, r := range has {
		with(func(y *observed.Look) { y.DryRun = &r })
	}
	with(func(y *observed.Look) { y.DryChecks = true })
	with(func(y *observed.Look) { y.DryRun, y.Brakes.Paused = &has[0], true })
}

// dryKey is what a dry run at the gate reads besides.
func (s *State) dryKey() []any {
	if !s.isDry() || s.st.Phase != "" && s.st.Phase != api.Pending {
		return nil
	}
	return []any{"dry", s.st.WouldBeginAt != nil, s.st.WouldDrainAt != nil, s.st.GivenBack != nil}
}

// idle are the actions that do nothing to a node, a machine or a slot.
var idle = []fence.Action{fence.None, fence.Resolve, fence.DryReserve, fence.DryDrain, fence.DryChecks, fence.DropFinalizer}

// checkDry holds what is promised of a dry run, and of every other fence.
func checkDry(s *State, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) {
	if !s.isDry() {
		say(act != fence.DryReserve && act != fence.DryDrain && act != fence.DryChecks, "S14: only a dry run asks for a dry reservation")
		say(a.WouldBeginAt == nil && a.WouldDrainAt == nil, "S14: only a dry run has a dry reservation")
		return
	}
	b := &s.st
	say(slices.Contains(idle, act) || act == fence.Undo && marksStay(b, seen), "S17: nothing is placed, switched or started in a dry run")
	waits := []api.Phase{api.Pending, api.Recovering, api.Finished}
	say(slices.Contains(waits, a.Phase) || a.Phase == b.Phase, "S17: a dry run waits at the gate until it ends")
	say(said(a.WouldBeginAt, b.WouldBeginAt, seen.DryRun, false) && said(a.WouldDrainAt, b.WouldDrainAt, seen.DryRun, true), "S28: a dry run would begin, or drain, only once the gate has said so")
}

// said tells whether a time in the record is of the ledger's dry reservation, or stood there before.
func said(is, was *api.Time, r *observed.DryRun, drain bool) bool {
	if is == nil || is.Equal(was) {
		return true
	}
	if r == nil || r.Drain != drain {
		return false
	}
	at := observed.StampOf(r.At)
	return is.Equal(&at)
}
