package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence under action WaitForOff whose machine can be read.

// isRead: its machine may be read, and never switched.
func (s *State) isRead() bool { return s.spec.Decision.Settings.Action == api.ActionWaitForOff }

func (s *State) readKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isRead() {
		return nil
	}
	p, read := s.st.Power, false
	if r := p.LastRead; r != nil {
		read = r.State == api.PoweredOn
	}
	return []any{"read", s.st.Placed.Taint, age(p.NotBefore, 0), read}
}

// readLooks vary what only such a fence looks at.
func readLooks(s *State, with func(func(*observed.Look))) {
	if s.isRead() && s.atDevice() && s.st.Placed.Taint {
		with(func(y *observed.Look) { y.Node.Taint = false })
	}
}

func checkReads(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) {
	if !s.isRead() {
		return
	}
	say(act != fence.Off && act != fence.On, "S12: what nodefence is told to leave alone is neither switched off nor on")
	say(!a.Power.SwitchedByUs && a.Phase != api.PoweringOn, "S12: an off that was another's doing is never ours")
	if s.st.Phase != api.Isolating && a.Phase == api.Isolating && !seen.Node.Taint {
		off := len(sh.reads) > 0 && sh.reads[len(sh.reads)-1].State == api.PoweredOff
		say(off || f.Spec.Requests.ConfirmOff != nil, "S17: nothing is placed on a node whose machine is not seen off, where nobody confirms that it is")
	}
}

// waitsForTurn: a call may be not made, as it waited too long for its turn. It is seen once, before
// the power was on again, for all.
func (s *State) waitsForTurn() bool {
	plain := s.spec.Decision.Asker() == nil && !s.isEarly() && !s.isHeld() && !s.isGentle() && !s.isCounted() && !s.checked() && !s.goes() && !s.isManual()
	return plain && s.st.Restarts == 0 && s.st.Phase != api.PoweringOn && !climbed(s)
}

// What the walk adds for a read that may be under way by its holder's clock, and is over
// by that of whoever looks: once, before the first Off, for all of them.
func lateReads(s *State) []time.Duration {
	c, p := s.st.Claim, s.st.Power
	first := s.st.Phase == api.Fencing && s.st.Restarts == 0 && s.st.ActivityChecks == nil && p.LastRead == nil && !p.SwitchedByUs && p.Level == 0
	if plain := s.spec.Decision.Asker() == nil && !s.isEarly() && !s.isHeld(); c == nil || c.Call != api.CallRead || !first || !plain {
		return nil
	}
	return []time.Duration{c.NotAfter.Sub(s.now) + time.Second}
}
