package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence under isolation.powerDelay, until its power is cut or its node is given back.

func (s *State) isDelayed() bool { return s.spec.Decision.Settings.Isolation.PowerDelay.Duration > 0 }

// pastDelay: from here it goes on like any other fence.
func (s *State) pastDelay() bool {
	return s.isDelayed() && (s.sh.cut || s.st.Phase == api.Releasing || s.st.Phase == api.PoweringOn)
}

// delayedKey tells apart since when the node is isolated, by the record and by the looks.
func (s *State) delayedKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isDelayed() {
		return nil
	}
	var seen *api.Time
	if !s.sh.isolated.IsZero() {
		at := observed.StampOf(s.sh.isolated)
		seen = &at
	}
	delay := s.spec.Decision.Settings.Isolation.PowerDelay.Duration
	return []any{"delayed", age(s.st.Placed.IsolatedAt, delay), age(seen, delay), s.st.Reason == api.WaitingBeforePower}
}

// isolates keeps since when the looks show the taint. Once the machine is read the time is over.
func (sh *shadow) isolates(spec *fencetest.Given, seen *observed.Look, st *api.NodeFenceStatus, now time.Time) {
	switch {
	case spec.Decision.Settings.Isolation.PowerDelay.Duration == 0:
	case !seen.Node.Taint && st.Phase != api.Fencing:
		sh.isolated = time.Time{}
	case seen.Node.Taint && sh.isolated.IsZero():
		sh.isolated = now
	}
}

// untainted are looks at a node whose taint somebody has taken away while power is waited for.
func untainted(s *State, with func(func(*observed.Look))) {
	if s.isDelayed() && s.st.Placed.IsolatedAt != nil && (s.st.Phase == api.Pending || s.st.Phase == api.Isolating) {
		with(func(x *observed.Look) { x.Node.Taint = false })
	}
}

// checkDelayed holds what is promised of such a fence.
func checkDelayed(s *State, sh *shadow, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	if !s.isDelayed() {
		return
	}
	delay := s.spec.Decision.Settings.Isolation.PowerDelay.Duration
	long := !sh.isolated.IsZero() && now.Sub(sh.isolated) >= delay
	say(act != fence.Off || sh.cut || long, "isolation.powerDelay: no first Off before the node was isolated for that long")
	waits := a.Reason == api.WaitingBeforePower
	say(!waits || !a.Phase.HoldsSlot() && a.DecidedAt == nil, "S14: a fence that waits before power holds no slot")
	say(!waits || a.Phase != api.Pending || a.NextLook != nil && a.NextLook.Sub(now) <= promisedResync, "S19: a fence that waits before power is looked at within a resync")
}
