package fence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
) // The walk of a fence that opened because the node's Machine had failed.

func machineSpec() fencetest.Given {
	s := fencetest.Spec()
	s.Decision.Trigger = api.Trigger{Type: api.TriggerMachine, Since: fence.StampOf(fencetest.Start), Machine: &api.MachineTrigger{MachineRef: api.MachineRef{Namespace: "m", Name: "x", UID: "x"}, State: api.MachineStateFailed}}
	return s
}

// servedMachine is such a fence whose power was cut, and which waits once more.
func servedMachine(s state) state {
	at := fence.StampOf(fencetest.Start)
	s.sh.served = true
	s.st = api.NodeFenceStatus{
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, CutOrReleased: true, Restarts: 1,
		Placed: api.Placed{Taint: true, Cordon: true}, Evidence: []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateFailed, Mark: at, Since: at}},
	}
	return s
}

// pastMachine: from here it goes on like any other fence.
func (s *state) pastMachine() bool {
	return s.ofMachine() && (s.st.Power.SwitchedByUs || !slices.Contains([]api.Phase{api.Pending, api.Isolating, api.Fencing}, s.st.Phase))
}

func (s *state) ofMachine() bool { return s.spec.Decision.Trigger.OfMachine() }

// machineCounts: its Machine may still speak for it.
func (s *state) machineCounts() bool {
	return s.ofMachine() && slices.Contains([]api.Phase{"", api.Pending, api.Isolating, api.Fencing, api.Releasing}, s.st.Phase)
}

func (s *state) machineKey() []any {
	if !s.machineCounts() && !(s.ofMachine() && !(s.st.CutOrReleased && s.sh.served)) {
		return nil
	}
	failed := slices.ContainsFunc(s.st.Evidence, func(e api.Evidence) bool { return e.Type == api.TriggerMachine })
	return []any{"machine", failed, s.sh.machine, s.st.CutOrReleased, s.sh.served}
}

// machineLooks: it is Failed still, or was healed or taken out; the usual look is of
// somebody who does not look at it.
func machineLooks(s *state, _ time.Time, with func(func(*fence.Seen))) {
	if !s.machineCounts() {
		return
	}
	with(func(y *fence.Seen) {
		y.MachineLooked, y.Machine = true, &api.FailedMachine{MachineRef: s.spec.Decision.Trigger.Machine.MachineRef, State: api.MachineStateFailed, Since: fence.StampOf(fencetest.Start)}
	})
	with(func(y *fence.Seen) { y.MachineLooked = true })
}

// brokenMachine are those that lack a guard of such a fence.
var brokenMachine = map[string]decider{
	"does not see that the Machine is Failed no more": before(func(_ *api.NodeFence, s *fence.Seen, _ time.Time) {
		s.MachineLooked = false
	}),
	"fences for one failed Machine again and again": before(func(f *api.NodeFence, _ *fence.Seen, _ time.Time) {
		f.Status.CutOrReleased = false
	}),
}

// TestAFailedMachineSpeaksForItsFence from the beginning until power was cut, however
// healthy the node is (S17).
func TestAFailedMachineSpeaksForItsFence(t *testing.T) {
	failed := &api.FailedMachine{State: api.MachineStateFailed, Since: fence.StampOf(fencetest.Start)}
	was := []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateFailed, Mark: fence.StampOf(fencetest.Start), Since: fence.StampOf(fencetest.Start)}}
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
		f.Status.Decision.NodeUID, f.Status.Decision.Devices, f.Status.Decision.Trigger = "uid-1", api.Named(api.Binding{Driver: "mem"}), machineSpec().Decision.Trigger
		before := fence.StampOf(fencetest.Start.Add(-time.Second))
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, Phase: c.phase, FenceNumber: f.Status.FenceNumber, MinReaderVersion: api.SchemaPlain, OpenedAt: &before, PhaseSince: &before,
			DecidedAt: &before, Evidence: c.was, CutOrReleased: c.served}
		st, act := fence.Decide(f, fence.Seen{Me: "me", Resolved: true, Brakes: fence.Brakes{Looked: true, Counted: true}, MachineLooked: c.looked, Machine: c.seen,
			Node:  fence.Node{Exists: true, UID: "uid-1", Conditions: []fence.Condition{{Type: "Ready", Status: "True"}}},
			Lease: fence.Lease{Exists: true, Renewed: "r", Renewal: fencetest.Renewal}}, fencetest.Start)
		got := strings.TrimSpace(fmt.Sprintf("%s %s", st.Phase, st.Outcome)) + ", " + string(act)
		if got != c.want {
			t.Errorf("%s: %s, want %s (%s: %s)", name, got, c.want, st.Reason, st.Message)
		}
	}
}
