package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence that opens for a still Lease, under a policy whose
// condition must hold for a while.

// isEarly: the Lease alone may still speak for it. From its first Off or release
// on, its states are those of any fence.
func (s *State) isEarly() bool {
	return s.spec.Decision.Settings.EarlyProbe != nil && !s.sh.cut && !s.st.Power.SwitchedByUs && s.st.Release.StartedAt == nil
}

// sickSince is since when the condition has really held, nodefence's own mark left out.
func (sh shadow) sickSince(seen observed.Look, now time.Time) time.Time {
	for _, c := range seen.Node.Conditions {
		if c.Type == "Ready" && c.Status == "Unknown" && c.Reason == "" {
			if sh.sick.IsZero() {
				return now
			}
			return sh.sick
		}
	}
	return time.Time{}
}

// sickDue: it has held for its time.
func (sh shadow) sickDue(now time.Time) bool {
	return !sh.sick.IsZero() && now.Sub(sh.sick) >= specs.EarlyFor
}

func (s *State) earlyKey(age func(*api.Time, ...time.Duration) string, read func(*api.Read, ...time.Duration) string) []any {
	st, sick := s.st, "-"
	if !s.sh.sick.IsZero() {
		at := observed.StampOf(s.sh.sick)
		sick = age(&at, specs.EarlyFor-1)
	}
	held := "-"
	if len(st.Evidence) > 0 {
		held = age(&st.Evidence[0].Since, specs.EarlyFor-1)
	}
	l, moved := st.Lease.StillSince, false
	if l != nil && st.OpenedAt != nil {
		moved = l.After(st.OpenedAt.Time)
	}
	really := observed.StampOf(s.sh.moved)
	k := []any{"early", held, sick, age(l, specs.EarlyStill-1) + age(&really, specs.EarlyStill-1), moved, st.Release.MarkedAt != nil, st.Placed.Taint}
	if st.Phase == api.Pending || st.Phase == api.Isolating {
		k = append(k, age(st.Power.NotBefore, -1), read(st.Power.LastRead, promisedReadOf(&s.spec.Decision)) == "PoweredOn0")
	}
	return k
}

// earlyLooks vary what only such a fence looks at.
func earlyLooks(s *State, with func(func(*observed.Look))) {
	if !s.isEarly() {
		return
	}
	if s.atDevice() && s.st.Placed.Taint {
		with(func(y *observed.Look) { y.Node.Taint = false })
	}
	if s.st.Release.MarkedAt != nil {
		with(func(y *observed.Look) {
			y.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "Unknown", Reason: api.NotReadyReason, Since: fencetest.Start}}
		})
	}
}

func (w *walker) checkEarly(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isEarly() {
		return
	}
	if act == fence.Off {
		say(sh.sickDue(now), "S17: no Off for the Lease alone, before a condition of the policy has held for its time")
	}
	if s.st.Phase != api.Isolating && a.Phase == api.Isolating && !seen.Node.Taint {
		off := len(sh.reads) > 0 && sh.reads[len(sh.reads)-1].State == api.PoweredOff
		say(off || sh.sickDue(now) || f.Spec.Requests.ConfirmOff != nil, "S17: for the Lease alone nothing is placed on a node whose machine is not seen off")
	}
	if act == fence.Release {
		say(sh.sickDue(now) || now.Sub(sh.moved) >= specs.EarlyStill, "S17: a release before its time rests on a Lease that stands still")
	}
	if act.Device() && act != fence.Read {
		say(seen.Node.Taint, "S22: the isolation taint is there before a command")
	}
}
