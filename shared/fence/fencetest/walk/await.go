package walk

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
)

// What the walk adds for a machine that was cut, and whose tries were used up: it is
// read for as long as it takes, holds no slot, and gets no Off that the gate has not
// allowed since (S14, S25). And from every state in which a machine is cut by us, it is
// released or on in the end, once its device answers.

// awaits takes the gate's yes from a fence whose tries were used up.
func (sh *shadow) awaits(s *State, after *api.NodeFenceStatus) {
	if after.Awaited != nil && s.st.Awaited == nil {
		sh.decided = nil
	}
}

// readsOn: a fence goes back to the gate, or is given up, after the machine read on.
func (sh *shadow) readsOn(s *State, after *api.NodeFenceStatus) bool {
	n := len(sh.reads)
	return len(s.spec.Decision.Isolation()) == 0 && (after.Phase == api.Pending || after.Phase == api.Failed) && n > 0 && sh.reads[n-1].State == api.PoweredOn && !sh.wrong
}

// awaitedKey is what tells apart two fences that wait for their device.
func (s *State) awaitedKey() []any {
	a, l := s.st.Awaited, s.st.Lease.StillSince
	if a == nil && s.st.Phase == api.Fencing && s.sh.cut && s.sh.decided == nil {
		return []any{"no yes"}
	}
	if a == nil || s.st.Phase != api.Fencing && s.st.Phase != api.Releasing {
		return nil
	}
	return []any{"awaited", a.Disobeyed, l != nil && l.After(a.Since.Time)}
}

// pastAwaited: a fence that waits for its device is like any other that does, whatever
// it came from; plain ones are walked.
func (s *State) pastAwaited() bool {
	plain := len(s.spec.Decision.PowerLevels()) < 2 && len(s.spec.Decision.Isolation()) == 0 && !s.isEarly() && !s.isGentle() && !s.checked() && !s.goes() && !s.isHeld() && !s.isManual()
	return s.st.Awaited != nil && !plain
}

func checkAwaited(s *State, sh *shadow, f *api.NodeFence, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) {
	after := api.NodeFence{Spec: f.Spec, Status: *a}
	say(act != fence.Off || sh.decided != nil || s.isRestored(), "S25: no further Off once the tries are used up, unless the gate says yes again")
	say(a.Awaited == nil || !after.HoldsSlot(), "S14: a fence that waits for its device holds no slot")
	say(a.Phase != api.Failed || !a.Power.SwitchedByUs || s.st.Placed.OutOfService || s.st.Phase == api.Failed || f.Status.Decision.Power(0) == nil, "S25: a machine that we cut is not given up")
}

// answersAgain follows a machine that we cut into worlds in which its device answers,
// whether our Off has done anything or not.
func (w *walker) answersAgain(s *State) {
	if s.isHeld() || len(s.spec.Decision.Isolation()) > 0 && !s.st.Power.SwitchedByUs {
		return // what holds it is lifted elsewhere; what is cut is not the power
	}
	k := key(s)
	if w.answered[k] {
		return
	}
	w.answered[k] = true
	for _, on := range []bool{false, true} {
		if !on && (s.sh.moved.After(s.sh.sent) || s.rebooted()) {
			continue // it was seen to live since
		}
		p, isOn := w.followFrom(s, false, on)
		if promise := "S25: a machine that we cut, and whose device answers again, is released or on"; !(p == api.Finished || p == api.Fenced || p == api.Failed && isOn) && w.broken[promise] == "" {
			w.broken[promise] = fmt.Sprintf("from %s (%s), on %v, it came to %s", s.st.Phase, key(s), on, p)
		}
	}
}

// rebooted: the boot that the record is about is not the first one.
func (s *State) rebooted() bool {
	p := s.st.Proof
	return s.st.BootIDBefore == "b" || p != nil && p.BootIDBefore == "b"
}
