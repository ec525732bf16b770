package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// afterDrain is a fence of a node that lives, whose drain has just ended so, in that phase.
func afterDrain(spec fencetest.Given, phase api.Phase, how api.DrainEnd) State {
	s := readOn(spec)
	s.now = fencetest.Start.Add(time.Second)
	at, moved, took := observed.StampOf(fencetest.Start), fencetest.Start, 5*time.Second
	timedOut := how == api.DrainTimeIsOver || how == api.DrainGivenUp
	if timedOut {
		took = specs.DrainTimeout
	}
	s.st.Phase, s.st.Lease.StillSince = phase, &at
	s.sh.moved = moved
	s.sh.drained = drained{
		took: took, shown: true, over: true, timedOut: timedOut, how: how, begged: true, overAt: fencetest.Start, beat: "r0", still: moved,
	}
	if phase == api.Pending {
		s.st.DecidedAt, s.sh.decided, s.st.Power, s.sh.reads = nil, nil, api.PowerRecord{}, nil
	}
	if phase == api.Pending && how == api.DrainGivenUp {
		s.st.Placed = api.Placed{}
	}
	s.st.Drain = &api.DrainRecord{BeganAt: at, IsolatedAt: &at, AskedAt: &at, Rounds: 1, EndedAt: &at, Ended: how}
	s.st.Drain.Spent.Duration = took
	return s
}

// DrainsOver are such fences at the gate.
func DrainsOver() (all []State) {
	for _, how := range []api.DrainEnd{api.DrainEmpty, api.DrainTimeIsOver, api.DrainSilent} {
		all = append(all, afterDrain(specs.Draining(), api.Pending, how))
	}
	return append(all, afterDrain(specs.GivesUp(), api.Pending, api.DrainGivenUp), afterDrain(specs.GivesUp(), api.Pending, api.DrainTimeIsOver), afterDrain(specs.Skips(), api.Pending, api.DrainSkipped))
}

// ToCutAfterDrains are such fences whose machine has just been read on, and two of nodes that nobody
// has drained.
func ToCutAfterDrains() (all []State) {
	for _, how := range []api.DrainEnd{api.DrainEmpty, api.DrainSilent} {
		all = append(all, afterDrain(specs.Draining(), api.Fencing, how))
	}
	all = append(all, afterDrain(specs.GivesUp(), api.Fencing, api.DrainGivenUp), afterDrain(specs.Skips(), api.Fencing, api.DrainSkipped))
	for _, spec := range []fencetest.Given{specs.Draining(), specs.Skips()} {
		s := afterDrain(spec, api.Fencing, "")
		s.st.Drain, s.sh.drained = nil, drained{beat: "r0", still: fencetest.Start}
		all = append(all, s)
	}
	return all
}

// GivenUpStillMarked are such fences at the gate whose drain was given up, and with its marks on the node, or
// our cordon alone: it had gone on since, as the node fell silent, and the node lives again.
func GivenUpStillMarked() (all []State) {
	for _, left := range []api.Placed{{Taint: true, Cordon: true}, {Cordon: true}} {
		s := afterDrain(specs.GivesUp(), api.Pending, api.DrainGivenUp)
		s.st.Placed = left // which is what the looks show
		all = append(all, s)
	}
	return all
}

// EmptiedToMark is such a fence that has just its slot, and whose node is empty.
func EmptiedToMark() []State {
	s := afterDrain(specs.Draining(), api.Isolating, api.DrainEmpty)
	s.st.Power, s.sh.reads = api.PowerRecord{}, nil
	return []State{s}
}
