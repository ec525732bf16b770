package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenGone are those that lack a guard of the deletion of a Node.
var brokenGone = map[string]walk.Decider{
	"deletes a Node while its work is left": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			s.Left = &observed.Left{}
		}
	}),
	"deletes a Node on an old proof": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		if p := f.Status.Proof; p != nil && f.Status.Release.DoneAt != nil {
			q := *p
			q.At = observed.StampOf(now)
			f.Status.Proof = &q
		}
	}),
	"deletes a Node with the out-of-service taint on": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Cleared = s.Cleared || f.Status.Phase == api.Releasing
	}),
	"deletes a Node whose machine has rebooted": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if p := f.Status.Proof; p != nil {
			s.Node.BootID = p.BootIDBefore
		}
	}),
	"deletes another Node of the name": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Node.Exists, s.Node.UID = true, f.Status.Decision.NodeUID
	}),
}

// brokenKept deletes Nodes that are to be kept.
var brokenKept = map[string]walk.Decider{
	"deletes the Node of a machine that is switched on again": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing {
			f.Status.Decision.Settings.Action, f.Status.Decision.Settings.Release.DeleteNode = api.ActionOff, true
		}
	}),
}
