package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenReads are those that lack a guard of action WaitForOff.
var brokenReads = map[string]walk.Decider{
	"switches a machine that it is told to leave alone": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Fencing {
			f.Status.Decision.Settings.Action = api.ActionReboot
		}
	}),
	"switches on what it has only seen off": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Decision.Settings.Action, f.Status.Power.SwitchedByUs = api.ActionReboot, true
		}
	}),
	"marks a node before its machine is read": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Pending {
			s.Node.Taint = true
		}
	}),
	"releases on one read of off": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if c := s.Call; f.Status.Phase == api.Fencing && c != nil && c.Power == "Off" && f.Status.Power.FirstOff == nil {
			f.Status.Power.FirstOff = &api.Read{State: api.PoweredOff, At: observed.StampOf(now.Add(-10 * time.Second))}
		}
	}),
}
