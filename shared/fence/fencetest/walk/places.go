package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// CutJustNow are machines to which an Off was sent a moment ago, with a Lease that still
// moved then, and with one that did not.
func CutJustNow() []State {
	of := func(still time.Time, fresh bool) State {
		at, since, effect := observed.StampOf(fencetest.Start), observed.StampOf(still), fencetest.Start.Add(3*time.Second)
		until := observed.StampOf(effect)
		return State{
			now: fencetest.Start, spec: fencetest.Spec(),
			sh: shadow{cut: true, served: true, fresh: fresh, moved: still, renewed: "r0", sent: fencetest.Start, until: effect, effect: [2]time.Time{effect}, off: [2]bool{true}, decided: &at},
			st: api.NodeFenceStatus{
				Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at, DecidedAt: &at, CutOrReleased: true, BootIDBefore: "a",
				Placed: api.Placed{Taint: true, Cordon: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &since},
				Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &at, EffectUntil: &until}, Cuts: 1, OffCalls: 1, CutAt: &at, LeaseFresh: fresh, Cut: []int32{0}},
			},
		}
	}
	return []State{of(fencetest.Start.Add(-time.Second), true), of(fencetest.Start.Add(-time.Minute), false)}
}

// LostJustNow is such a machine whose Node was deleted since, with nothing left on it.
func LostJustNow() []State {
	s := CutJustNow()[1]
	s.st.Phase, s.st.Outcome, s.st.Placed = api.PoweringOn, api.NodeGone, api.Placed{}
	return []State{s}
}

// BothLevelsCut is a machine that is to be switched on at two levels.
func BothLevelsCut() []State {
	s := LostJustNow()[0]
	s.spec, s.now = specs.Levels(), s.now.Add(time.Minute)
	s.st.Power.Level, s.st.Power.Cut = 1, []int32{0, 1}
	s.sh.off = [2]bool{true, true}
	return []State{s}
}

// AwaitedNow is a machine that was cut and whose tries have just been used up.
func AwaitedNow() []State {
	s := CutJustNow()[1]
	s.now, s.sh.decided = s.now.Add(time.Minute), nil
	s.st.DecidedAt, s.st.Power.OffAt = nil, nil
	s.st.Awaited = &api.AwaitedRecord{Since: observed.StampOf(s.now), Reason: api.DeviceFailed}
	return []State{s}
}

// readOn is a machine that has just been read on.
func readOn(spec fencetest.Given) State {
	s, on := CutJustNow()[1], api.Read{State: api.PoweredOn, At: observed.StampOf(fencetest.Start)}
	s.spec, s.st.Power, s.st.CutOrReleased = spec, api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: &on}}, false
	s.sh = shadow{moved: s.sh.moved, renewed: "r0", decided: s.sh.decided, reads: []api.Read{on}}
	return s
}

// ReadOnBeforeADump is such a machine whose dump may come.
func ReadOnBeforeADump() []State { return []State{readOn(specs.Kdump())} }

// ReadOnServed is such a machine whose power was cut for a request once.
func ReadOnServed() []State {
	s := readOn(specs.Request())
	s.st.CutOrReleased, s.sh.served, s.st.Restarts = true, true, 1
	return []State{s}
}

// ReadOnAgain is such a machine to which an Off was sent a minute ago.
func ReadOnAgain() []State { return []State{again(fencetest.Spec())} }

// ReadOnAsked is such a machine, for whose fence somebody asked.
func ReadOnAsked() []State { return []State{again(specs.Request())} }

// ReadOnHeld is such a machine under policies with pause windows.
func ReadOnHeld() []State { return []State{again(specs.Held())} }

func again(spec fencetest.Given) State {
	s := CutJustNow()[1]
	s.now, s.spec = s.now.Add(time.Minute), spec
	on := api.Read{State: api.PoweredOn, At: observed.StampOf(s.now)}
	s.st.Power.OffAt, s.st.Power.LastRead, s.sh.reads = nil, &on, []api.Read{on}
	return s
}

// ReleasesHeld is a machine that was seen off, and whose work is to be released.
func ReleasesHeld() []State {
	return []State{releasedBy(State{now: fencetest.Start, spec: specs.Held(), sh: shadow{renewed: "r0"}}, api.ProofSeenOff)}
}

// WordsHeld is a machine that a person has confirmed to be off, and whose work is to be released.
func WordsHeld() []State {
	return []State{releasedBy(State{now: fencetest.Start, spec: specs.Held(), sh: shadow{renewed: "r0"}}, api.ProofConfirmed)}
}

// CutOnce is a machine that was cut once, was switched on, and was healthy since.
func CutOnce() []State {
	return onItsWayBack(State{now: fencetest.Start, spec: fencetest.Spec(), sh: shadow{renewed: "r0"}})[1:]
}

// OnAgain is a machine that was seen off and switched on a moment ago, with a Lease that moved a
// moment before that.
func OnAgain() []State {
	s := CutOnce()[0]
	moved := observed.StampOf(fencetest.Start.Add(-2 * time.Second))
	s.sh.moved, s.st.Lease.StillSince = moved.Time, &moved
	s.st.Proof = &api.Proof{Type: api.ProofSeenOff, FenceNumber: 1, At: observed.StampOf(fencetest.Start.Add(-time.Second)), BootIDBefore: "a"}
	return []State{s}
}

// DumpsNow is a fence that releases pods for a dump.
func DumpsNow() []State {
	f, _, now := specs.Dumping()
	k := f.Status.Kdump
	return []State{{
		now: now, spec: fencetest.GivenBy(f), st: f.Status,
		sh: shadow{moved: f.Status.Lease.StillSince.Time, renewed: "r0", decided: f.Status.DecidedAt, dumpSince: k.Since.Time, dumpLast: k.LastSeen.Time, dumpBoot: "a"},
	}}
}
