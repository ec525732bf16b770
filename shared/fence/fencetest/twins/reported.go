package twins

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenReported are those that lack a guard against reports.
var brokenReported = map[string]walk.Decider{
	"begins for a report that nobody has approved": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		g := *f
		g.Status.Decision.AskedBy = asOtherEvents(f)
		return putBack(f)(fence.Decide(&g, s, now))
	},
	"takes every report for approved": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		g := *f
		g.Spec.Requests.Approve = &api.Request{FenceNumber: f.Status.FenceNumber, By: "nobody"}
		return fence.Decide(&g, s, now)
	},
	"cuts for a report once the fence has a slot": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		g := *f
		if f.Status.Phase == api.Isolating || f.Status.Phase == api.Fencing {
			g.Status.Decision.AskedBy = asOtherEvents(f)
		}
		return putBack(f)(fence.Decide(&g, s, now))
	},
	"asks for a slot for a report": func(f *api.NodeFence, s observed.Look, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if st.Reason == api.WaitingForApproval && act == fence.None {
			act = fence.Reserve
		}
		return st, act
	},
}

// asOtherEvents are those who asked, as if none of them were a report.
func asOtherEvents(f *api.NodeFence) []api.AskedBy {
	all := slices.Clone(f.Status.Decision.AskedBy)
	for i := range all {
		all[i].Type = "t"
	}
	return all
}

// putBack has a record keep who asked.
func putBack(f *api.NodeFence) func(api.NodeFenceStatus, fence.Action) (api.NodeFenceStatus, fence.Action) {
	return func(st api.NodeFenceStatus, act fence.Action) (api.NodeFenceStatus, fence.Action) {
		st.Decision.AskedBy = f.Status.Decision.AskedBy
		return st, act
	}
}
