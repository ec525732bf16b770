package twins

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

var brokenAwaited = map[string]walk.Decider{
	"gives up what it cut": after(func(st *api.NodeFenceStatus, _ fence.Action, _ time.Time) {
		if st.Awaited != nil && st.Phase == api.Fencing {
			st.Phase, st.Awaited = api.Failed, nil
		}
	}),
	"tries on when its tries are used up": Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) { f.Status.Awaited = nil }),
}
