package walk

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of a fence that opened because the node's Machine had failed.

// servedMachine is such a fence whose power was cut, and which waits once more.
func servedMachine(s State) State {
	at := observed.StampOf(fencetest.Start)
	s.sh.served = true
	s.st = api.NodeFenceStatus{
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, CutOrReleased: true, Restarts: 1,
		Placed: api.Placed{Taint: true, Cordon: true}, Evidence: []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateFailed, Mark: at, Since: at}},
	}
	return s
}

// pastMachine: from here it goes on like any other fence.
func (s *State) pastMachine() bool {
	return s.ofMachine() && (s.st.Power.SwitchedByUs || !slices.Contains([]api.Phase{api.Pending, api.Probing, api.Isolating, api.Fencing}, s.st.Phase))
}

func (s *State) ofMachine() bool { return s.spec.Decision.Trigger.OfMachine() }

// machineCounts: its Machine may still speak for it.
func (s *State) machineCounts() bool {
	return s.ofMachine() && slices.Contains([]api.Phase{"", api.Pending, api.Probing, api.Isolating, api.Fencing, api.Releasing}, s.st.Phase)
}

func (s *State) machineKey() []any {
	if !s.machineCounts() && !(s.ofMachine() && !(s.st.CutOrReleased && s.sh.served)) {
		return nil
	}
	failed := slices.ContainsFunc(s.st.Evidence, func(e api.Evidence) bool { return e.Type == api.TriggerMachine })
	return []any{"machine", failed, s.sh.machine, s.st.CutOrReleased, s.sh.served}
}

// machineLooks: it is Failed still, or was healed or taken out; the usual look is of
// somebody who does not look at it.
func machineLooks(s *State, _ time.Time, with func(func(*observed.Look))) {
	if !s.machineCounts() {
		return
	}
	with(func(y *observed.Look) {
		y.MachineLooked, y.Machine = true, &api.FailedMachine{MachineRef: s.spec.Decision.Trigger.Machine.MachineRef, State: api.MachineStateFailed, Since: observed.StampOf(fencetest.Start)}
	})
	with(func(y *observed.Look) { y.MachineLooked = true })
}
