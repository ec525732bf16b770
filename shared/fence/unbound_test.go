package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAFenceWhoseConfigurationIsRefused waits for the mended one where it has acted before,
// and takes it by itself; one that has done nothing yet is given up, and says so (S25, S27).
func TestAFenceWhoseConfigurationIsRefused(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	served := func(f *api.NodeFence, _ *observed.Look) { f.Status.CutOrReleased = true }
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		phase  api.Phase
		// mended is what a later look at the mended configuration comes to.
		mended fence.Action
	}{
		"it has done nothing":                                {func(*api.NodeFence, *observed.Look) {}, api.Failed, fence.None},
		"it waited for its device, which reads on":           {served, api.Pending, fence.Reserve},
		"its restart waits for a slot":                       {func(f *api.NodeFence, s *observed.Look) { served(f, s); f.Status.Restarts = 1 }, api.Pending, fence.Reserve},
		"a release that was begun waits for a proof":         {func(f *api.NodeFence, s *observed.Look) { served(f, s); f.Status.Release = begunAt(now, false) }, api.Pending, fence.None},
		"a release that was begun by one that keeps no such": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Release = begunAt(now, false) }, api.Pending, fence.None},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Phase, f.Status.DecidedAt, s.Reserved = api.Pending, nil, nil
				f.Status.Decision.Devices, f.Status.Decision.DevicesError, s.Resolved = nil, "ConfigMap x: no address", true
				c.change(f, s)
			})
			st, act := fence.Decide(f, s, now)
			if got := []any{act, st.Phase, st.Reason}; !cmp.Equal(got, []any{fence.None, c.phase, api.BindingInvalid}) {
				t.Fatalf("%v, want %s (%s)", got, c.phase, st.Message)
			}
			if c.phase == api.Failed {
				return
			}
			f.Status, s.Resolved = st, false
			if _, act := fence.Decide(f, s, now.Add(facts.Resync)); act != fence.Resolve {
				t.Errorf("half a minute later: %q, and not Resolve", act)
			}
			f.Status.Decision.Devices, f.Status.Decision.DevicesError, s.Resolved = fencetest.Spec().Decision.Devices, "", true
			st, act = fence.Decide(f, s, now.Add(facts.Resync))
			if st.Phase == api.Failed || act != c.mended {
				t.Errorf("with the mended one: %q, %s (%s)", act, st.Phase, st.Message)
			}
		})
	}
}
