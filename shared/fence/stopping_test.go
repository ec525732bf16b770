package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAMachineOnItsWayOffIsWaitedFor: it is not on and not off, gets no Off from us
// (S12), and uses up no try until a stop has taken longer than any cloud's.
func TestAMachineOnItsWayOffIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		since   time.Duration
		stops   bool
		retries int32
	}{
		"it stops":                   {time.Minute, true, 0},
		"it stops for too long":      {facts.StopTakes, true, 1},
		"the device does not answer": {time.Minute, false, 1},
	} {
		f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
		f.Status.Decision.Settings.Power.Attempts = 3
		at, now := observed.StampOf(fencetest.Start.Add(-c.since)), observed.StampOf(fencetest.Start)
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
			Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, PhaseSince: &at, DecidedAt: &now, BootIDBefore: "a", Placed: api.Placed{Taint: true},
			Claim: &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, At: now, NotAfter: observed.StampOf(fencetest.Start.Add(5 * time.Second))},
		}
		seen := fencetest.Look(f, fencetest.Start, "Unknown", false, "a")
		seen.Call = &observed.CallResult{Call: api.CallRead, At: fencetest.Start, Err: "it is stopping", Stopping: c.stops}
		st, act := fence.Decide(f, seen, fencetest.Start)
		if act != fence.None || st.Phase != api.Fencing || st.Retries != c.retries || st.Power.OffCalls != 0 {
			t.Errorf("%s: %s, action %q, %d tries, %d Offs", name, st.Phase, act, st.Retries, st.Power.OffCalls)
		}
	}
}
