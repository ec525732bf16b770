package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenDelayed lack a guard of isolation.powerDelay.
var brokenDelayed = map[string]walk.Decider{
	"does not wait before it cuts power": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Isolation.PowerDelay.Duration = 0
	}),
	"counts on when the taint was taken away": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Pending && f.Status.Placed.IsolatedAt != nil {
			s.Node.Taint = true
		}
	}),
	"keeps its slot while it waits before power": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Reason == api.WaitingBeforePower {
			at := observed.StampOf(now)
			st.DecidedAt = &at
		}
	}),
	"sleeps until the delay is over": after(func(st *api.NodeFenceStatus, _ fence.Action, now time.Time) {
		if st.Reason == api.WaitingBeforePower {
			at := observed.StampOf(now.Add(time.Minute))
			st.NextLook = &at
		}
	}),
}
