package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestADeletionIsCountedAnew: storm and budgets are asked once more right before a Machine
// is deleted, and before each further try, as before an Off (S14, S15).
func TestADeletionIsCountedAnew(t *testing.T) {
	type end struct {
		Phase api.Phase
		Act   fence.Action
	}
	for name, c := range map[string]struct {
		brakes observed.Brakes
		tried  bool
		want   end
	}{
		"nothing stands against it":              {observed.Brakes{Looked: true, Counted: true}, false, end{api.Fencing, fence.DeleteMachine}},
		"nobody has counted again":               {observed.Brakes{Looked: true}, false, end{api.Fencing, fence.None}},
		"a storm has begun":                      {observed.Brakes{Looked: true, Counted: true, Storm: true}, false, end{api.Pending, fence.None}},
		"nobody has counted before a second try": {observed.Brakes{Looked: true}, true, end{api.Fencing, fence.None}},
	} {
		t.Run(name, func(t *testing.T) {
			spec, opened, now := specs.Bare(), observed.StampOf(fencetest.Start), fencetest.Start.Add(time.Minute)
			f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &opened,
				Evidence: []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateNoNode, Mark: opened, Since: opened}}})}
			listed := &api.FailedMachine{MachineRef: spec.Decision.Trigger.Machine.MachineRef, State: api.MachineStateNoNode, Since: opened}
			at, long := observed.StampOf(now), observed.StampOf(now.Add(-50*time.Second))
			f.Status.Phase, f.Status.PhaseSince, f.Status.DecidedAt = api.Fencing, &at, &at
			f.Status.Decision.Settings.Power.Attempts = 3
			if c.tried {
				f.Status.Machine = &api.MachineRecord{AskedAt: long, Tries: 1}
			}
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			seen.Node, seen.MachineLooked, seen.Machine, seen.Brakes = observed.Node{}, true, listed, c.brakes
			st, act := fence.Decide(f, seen, now)
			if d := cmp.Diff(c.want, end{st.Phase, act}); d != "" {
				t.Errorf("%s(%s: %s)", d, st.Reason, st.Message)
			}
			if !fence.Needs(f, &observed.Look{}).Anew {
				t.Error("power is not told to count")
			}
		})
	}
}
