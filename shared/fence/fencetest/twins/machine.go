package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenBare are those that lack a guard of such a record.
var brokenBare = map[string]walk.Decider{
	"deletes a Machine that is listed no more": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.MachineLooked = false
	}),
	"deletes a Machine whose name a Node has": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node = observed.Node{} }),
	"deletes a Machine while a brake is on": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Brakes = observed.Brakes{Looked: true, Counted: true}
	}),
	"deletes a Machine after an abort": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Spec.Requests.Abort = nil }),
	"deletes a Machine on an old decision": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		at := observed.StampOf(now)
		f.Status.DecidedAt = &at
	}),
	"deletes a Machine for ever": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if m := f.Status.Machine; m != nil {
			f.Status.Machine = &api.MachineRecord{AskedAt: m.AskedAt, Tries: -9}
		}
	}),
	"takes what it has asked for as done": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Machine != nil {
			s.MachineLooked, s.Machine = true, nil
		}
	}),
	"releases what it finds under a Machine's name": after(func(st *api.NodeFenceStatus, act fence.Action, now time.Time) {
		if act == fence.DeleteMachine {
			st.Phase = api.Releasing
		}
	}),
}

// brokenMachine are those that lack a guard of such a fence.
var brokenMachine = map[string]walk.Decider{
	"does not see that the Machine is Failed no more": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
		s.MachineLooked = false
	}),
	"fences for one failed Machine again and again": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.CutOrReleased = false
	}),
}
