package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenEarly are those that lack a guard of earlyProbe.
var brokenEarly = map[string]walk.Decider{
	"cuts a machine for its Lease alone": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Fencing {
			f.Status.Decision.Settings.EarlyProbe = nil
		}
	}),
	"does not wait for the condition's time": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Decision.Settings.EarlyProbe != nil {
			f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}}
		}
	}),
	"marks a node whose machine is on": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Decision.Settings.EarlyProbe != nil && f.Status.Phase == api.Pending {
			s.Node.Taint = true
		}
	}),
	"takes its own mark for a condition": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Decision.Settings.EarlyProbe != nil {
			s.Node.Conditions = append(s.Node.Conditions[:0:0], s.Node.Conditions...)
			for i := range s.Node.Conditions {
				s.Node.Conditions[i].Reason = ""
			}
		}
	}),
	"releases for a Lease that moves": Before(func(f *api.NodeFence, s *observed.Look, now time.Time) {
		if f.Status.Decision.Settings.EarlyProbe != nil && f.Spec.Requests.ConfirmOff == nil {
			still := observed.StampOf(now.Add(-time.Hour))
			f.Status.Lease = api.LeaseRecord{Renewed: s.Lease.Renewed, StillSince: &still}
		}
	}),
	"switches off where it is to probe": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if st.Phase == api.Probing && act == fence.Read {
			act = fence.Off
		}
		return st, act
	},
	"cuts the power of a node that has lost its taint": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Decision.Settings.EarlyProbe != nil && f.Status.Phase == api.Fencing {
			s.Node.Taint = true
		}
	}),
}
