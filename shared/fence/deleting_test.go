package fence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhatDeletesANodeIsNotDisturbed: until the first Off a fence goes back to the gate
// and gives its slot to others; after it nothing holds it (S25). A person's word that
// the machine is off touches no machine.
func TestWhatDeletesANodeIsNotDisturbed(t *testing.T) {
	before := observed.StampOf(fencetest.Start.Add(-time.Second))
	on := func(s *api.NodeFenceStatus) { s.Power.LastRead = &api.Read{State: api.PoweredOn, At: before} }
	begun := func(s *api.NodeFenceStatus) { on(s); s.Power.SwitchedByUs = true }
	for name, c := range map[string]struct {
		phase    api.Phase
		was      func(*api.NodeFenceStatus)
		deleting bool
		word     bool
		want     string
	}{
		"at the gate":                                            {api.Pending, nil, true, false, "Pending NodeBeingDeleted,  gives back false"},
		"at the gate, with a person's word":                      {api.Pending, nil, true, true, "Isolating Admitted,  gives back false"},
		"admitted":                                               {api.Isolating, nil, true, false, "Pending NodeBeingDeleted,  gives back true"},
		"admitted, with a person's word":                         {api.Isolating, nil, true, true, "Isolating , Isolate gives back false"},
		"before the first Off":                                   {api.Fencing, on, true, false, "Pending NodeBeingDeleted,  gives back true"},
		"before the first Off, and nobody deletes":               {api.Fencing, on, false, false, "Fencing PowerOffSent, Off gives back false"},
		"before the first Off, with a word":                      {api.Fencing, nil, true, true, "Fencing ReadingDevices, Read gives back false"},
		"before the first Off, with a word against a read of on": {api.Fencing, on, true, true, "Pending MachineReadOn,  gives back true"},
		"after the first Off":                                    {api.Fencing, begun, true, false, "Fencing PowerOffSent, Off gives back false"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, _ := fencetest.World(fencetest.Start)
			f.Status.Decision.NodeUID, f.Status.Decision.Devices = "uid-1", api.Named(api.Binding{Driver: "mem"})
			f.Status.Decision.Settings.Action, f.Status.Decision.Settings.Mode = api.ActionReboot, api.ModeEnforce
			f.Status.Decision.Settings.PerNode = (*api.PerNode)(nil).Settings()
			f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}}
			f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}, Since: before}
			if c.word {
				f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "anna", At: metav1.NewTime(before.Time)}}
			}
			f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: c.phase, FenceNumber: f.Status.FenceNumber, MinReaderVersion: api.Schema, OpenedAt: &before, PhaseSince: &before, DecidedAt: &before}
			if c.was != nil {
				c.was(&f.Status)
			}
			seen := observed.Look{Me: "me", Brakes: observed.Brakes{Looked: true, Counted: true}, Finalizer: true, Reserved: &before.Time,
				Node: observed.Node{Exists: true, Taint: c.phase == api.Fencing, UID: types.UID("uid-1"), Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown", Since: before.Time}}}}
			if c.deleting {
				seen.Node.Deleting = "its Machine is being deleted"
			}
			st, act := fence.Decide(f, seen, fencetest.Start)
			if d := cmp.Diff(c.want, fmt.Sprintf("%s %s, %s gives back %v", st.Phase, st.Reason, act, st.GivenBack != nil)); d != "" {
				t.Error(d, st.Message)
			}
			if st.Reason == api.NodeBeingDeleted && st.Message != seen.Node.Deleting {
				t.Errorf("in the words %q", st.Message)
			}
		})
	}
}
