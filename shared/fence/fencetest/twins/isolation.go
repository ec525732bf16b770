package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenCut are Decides that lack one guard of the isolation each.
var brokenCut = map[string]walk.Decider{
	"goes on before what must be cut off was seen so": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		for i := range f.Status.Isolation {
			at := observed.StampOf(now)
			f.Status.Isolation[i].SeenCutAt = &at
		}
	}),
	"believes one read of a cut": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; c != nil && c.Power == "Off" && f.Status.Claim != nil && f.Status.Claim.Holder == s.Me && len(f.Status.Isolation) > 0 && f.Status.Isolation[0].FirstCut == nil {
			f.Status.Isolation[0].FirstCut = &api.Read{State: api.PoweredOff, At: observed.StampOf(c.At.Add(-facts.Settle))}
		}
	}),
	"places the taint where only storage is cut": after(func(st *api.NodeFenceStatus, act fence.Action, _ time.Time) {
		if act == fence.Release && st.Proof != nil && st.Proof.Type == api.ProofStorageCut {
			st.Placed.OutOfService = true
		}
	}),
	"forgets what it cut off": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		for i := range f.Status.Isolation {
			f.Status.Isolation[i].SwitchedByUs = false
		}
	}),
	"gives back what others cut off": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		for i := range f.Status.Isolation {
			f.Status.Isolation[i].SwitchedByUs = true
		}
	}),
	"gives storage back while its writers live": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Restoring {
			f.Status.Release.By = ""
		}
	}),
	"gives storage back to a machine whose Node was deleted": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Restoring && f.Status.Release.By == "" {
			s.Node.Exists, s.Node.UID = true, f.Status.Decision.NodeUID
		}
	}),
	"does not look at the volumes in use": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.VolumesInUse = nil }),
	"gives back while a cut may still take effect": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		for i := range f.Status.Isolation {
			f.Status.Isolation[i].EffectUntil = nil
		}
	}),
	"gives access back with the out-of-service taint on": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		s.Cleared = s.Cleared || f.Status.Phase == api.Restoring
	}),
	"believes without looking that access is back": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if c := s.Call; c != nil && f.Status.Phase == api.Restoring && c.Call == api.CallRead && !c.Wrong {
			c.Power, c.Err = "On", ""
		}
	}),
	"gives up giving back": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Phase == api.Restoring && st.Reason == api.RestoreFailed {
			st.Phase = api.Recovering
		}
	}),
}

// brokenEarlyCut are those that lack one of a machine for which its Lease alone spoke at first.
var brokenEarlyCut = map[string]walk.Decider{
	"cuts the power before storage and network": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Fencing {
			f.Status.Decision.Devices = f.Status.Decision.PowerLevels()
		}
	}),
}
