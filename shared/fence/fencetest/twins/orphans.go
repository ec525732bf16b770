package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// brokenWent are those that lack a guard of such a wait.
var brokenWent = map[string]walk.Decider{
	"switches on what ran on a Node that is gone, while it is left": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Phase == api.Releasing && (st.Reason == api.NodeGone || st.Reason == api.NodeReplaced) {
			st.Phase = api.PoweringOn
		}
	}),
	"takes work that nobody has looked at for gone": Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
		if f.Status.Phase == api.Releasing && s.Left == nil {
			s.Left = &observed.Left{}
		}
	}),
}
