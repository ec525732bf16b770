package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenManual lack a guard of who gives a node back.
var brokenManual = map[string]walk.Decider{
	"returns a node that nobody uncordoned": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		f.Status.Decision.Settings.Recovery.Uncordon = api.UncordonAutomatic
	}),
	"returns a node that healed while the flow began anew": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		if f.Status.Outcome == api.HealedBeforeFence {
			f.Status.Decision.Settings.Recovery.Uncordon = api.UncordonAutomatic
		}
	}),
	"does not see that somebody uncordoned": Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) { s.Node.Cordoned = true }),
	"takes a cordon that went earlier for an answer": Before(func(f *api.NodeFence, _ *observed.Look, now time.Time) {
		at := observed.StampOf(now)
		f.Status.KeptSince = &at
	}),
	"does not hear who uncordons": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Spec.Requests.Uncordon = nil }),
	"keeps a node in silence": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Reason == api.WaitingForUncordon {
			st.Reason = api.NodeHealthy
		}
	}),
}
