package walk

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
)

// The walk of a fence that takes over a reboot which another program had begun.

// isBegun: the object that gives the device asks for such a reboot.
func (s *State) isBegun() bool {
	b := s.spec.Decision.Power(0)
	return b != nil && b.Adopted != nil && b.Adopted.RebootBegun
}

func (s *State) begunKey() []any {
	if !s.isBegun() {
		return nil
	}
	return []any{"begun", s.st.Power.RebootOver, s.sh.backOn}
}

// takesOver: the machine was not on since the other program began.
func (s *State) takesOver(sh *shadow) bool { return s.isBegun() && !sh.backOn }

// begunOver: the machine was on after the other program had begun. Our own Off follows a read of on. A machine
// that is awaited is proven off, or its fence has cut it.
func (sh *shadow) begunOver(s *State, on bool, after *api.NodeFenceStatus, act fence.Action) {
	back := after.Phase == api.Recovering && s.st.Phase != api.Recovering && after.Outcome != api.SentBack
	sh.backOn = sh.backOn || act == fence.Off || back || on && s.st.Awaited != nil
}

// OffAgainAfterAReboot is a machine that was on after that reboot, and is found off again.
func OffAgainAfterAReboot() []State {
	s := releasedBy(State{now: fencetest.Start, spec: specs.Begun(), sh: shadow{moved: fencetest.Start, renewed: "r0"}}, api.ProofSeenOff)
	s.st.Power.RebootOver, s.sh.backOn = true, true
	return []State{s}
}

func checkBegun(s *State, sh *shadow, a *api.NodeFenceStatus, say func(bool, string)) {
	left := s.st.Phase == api.Releasing && a.Phase == api.Fenced
	say(!left || !s.takesOver(sh), "S12: a reboot that another program had begun ends with the machine on")
}
