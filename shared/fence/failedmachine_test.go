package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAFailedMachineSpeaksForItsFence from the beginning until power was cut, however
// healthy the node is (S17).
func TestAFailedMachineSpeaksForItsFence(t *testing.T) {
	failed := &api.FailedMachine{State: api.MachineStateFailed, Since: observed.StampOf(fencetest.Start)}
	was := []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateFailed, Mark: observed.StampOf(fencetest.Start), Since: observed.StampOf(fencetest.Start)}}
	for name, c := range map[string]struct {
		phase  api.Phase
		was    []api.Evidence
		looked bool
		seen   *api.FailedMachine
		served bool
		want   string
	}{
		"seen Failed":                        {api.Pending, nil, true, failed, false, "Pending, Reserve"},
		"seen Failed no more":                {api.Pending, was, true, nil, false, "Recovering HealedBeforeFence, "},
		"nobody looked, and it was":          {api.Isolating, was, false, nil, false, "Isolating, Isolate"},
		"nobody has ever looked":             {api.Pending, nil, false, nil, false, "Recovering HealedBeforeFence, "},
		"it was served":                      {api.Pending, was, true, failed, true, "Recovering HealedBeforeFence, "},
		"the fence failed, the node did not": {api.Failed, was, false, nil, false, "Recovering RequestFailed, "},
	} {
		f, _, _ := fencetest.World(fencetest.Start)
		f.Status.Decision.NodeUID, f.Status.Decision.Devices, f.Status.Decision.Trigger = "uid-1", api.Named(api.Binding{Driver: "mem"}), specs.Machine().Decision.Trigger
		before := observed.StampOf(fencetest.Start.Add(-time.Second))
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: c.phase, FenceNumber: f.Status.FenceNumber, MinReaderVersion: api.Schema, OpenedAt: &before, PhaseSince: &before,
			DecidedAt: &before, Evidence: c.was, CutOrReleased: c.served}
		st, act := fence.Decide(f, observed.Look{Me: "me", Resolved: true, Brakes: observed.Brakes{Looked: true, Counted: true}, MachineLooked: c.looked, Machine: c.seen,
			Node:  observed.Node{Exists: true, UID: "uid-1", Conditions: []observed.Condition{{Type: "Ready", Status: "True"}}},
			Lease: observed.Lease{Exists: true, Renewed: "r", Renewal: fencetest.Renewal}}, fencetest.Start)
		got := strings.TrimSpace(fmt.Sprintf("%s %s", st.Phase, st.Outcome)) + ", " + string(act)
		if got != c.want {
			t.Errorf("%s: %s, want %s (%s: %s)", name, got, c.want, st.Reason, st.Message)
		}
	}
}
