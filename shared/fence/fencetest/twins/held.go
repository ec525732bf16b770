package twins

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// brokenHeld lack one guard of what holds each.
var brokenHeld = map[string]walk.Decider{
	"does not see the windows": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Brakes.Windows = nil }),
	"takes a window that it can't read for shut": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes.Windows = slices.DeleteFunc(slices.Clone(s.Brakes.Windows), func(w policy.Windows) bool { return w.Windows[0].TimeZone != nil })
	}),
	"takes any window for open": Before(func(_ *api.NodeFence, s *observed.Look, now time.Time) {
		for range s.Brakes.Windows {
			_, open, _, _ := walk.WindowsAt(now)
			s.Brakes.Windows = []policy.Windows{open}
		}
	}),
	"looks at the first policy's windows alone": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes.Windows = s.Brakes.Windows[:min(1, len(s.Brakes.Windows))]
	}),
	"lets a window stop what was begun": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes.Paused = s.Brakes.Paused || f.Status.Power.SwitchedByUs && len(s.Brakes.Windows) > 0
	}),
	"sleeps over the end of a window": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Reason == api.PauseWindow {
			late := observed.StampOf(now.Add(facts.Resync))
			st.NextLook = &late
		}
	}),
	"waits for a window that has ended": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if _, open, _, _ := walk.WindowsAt(now); f.Status.Reason == api.PauseWindow {
			s.Brakes.Windows = []policy.Windows{open}
		}
	}),
	"does not say what holds it": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Reason == api.PauseWindow || st.Reason == api.StateWentBack {
			st.Reason = api.WaitingForTime
		}
	}),
	"does not see that the state went back": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes.Stopped = s.Brakes.Stopped && s.Brakes.Why != api.StateWentBack
	}),
	"sends a further Off though the state went back": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Power.SwitchedByUs {
			s.Brakes.Stopped, s.Brakes.Counted = false, true
		}
	}),
	"lets a restore stop what was begun": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if s.Brakes.Why == api.StateWentBack && f.Status.Power.SwitchedByUs && act == fence.Release {
			return f.Status, fence.None
		}
		return st, act
	},
	"believes half a proof from before a restore": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if o := f.Status.Power.FirstOff; o != nil && now.Sub(o.At.Time) > facts.ProofValidity {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: observed.StampOf(now.Add(-facts.ProofValidity))}
		}
	}),
	"releases on a person's word from before a restore": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Release.StartedAt != nil {
			s.Brakes = observed.Brakes{Looked: true, Counted: true}
		}
	}),
	"keeps a healed node because it is held": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if walk.Holding(s.Brakes) && f.Status.Phase == api.Pending {
			s.Node.Conditions = []observed.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}
		}
	}),
}
