package walk

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The walk of the record of a Machine that has no node.

func (s *State) isBare() bool { return s.spec.Decision.Trigger.OnlyMachine() }

func bareMachine(s *State, listed bool) *api.FailedMachine {
	if !s.isBare() || !listed {
		return nil
	}
	return &api.FailedMachine{MachineRef: s.spec.Decision.Trigger.Machine.MachineRef, State: api.MachineStateNoNode, Since: observed.StampOf(fencetest.Start)}
}

// bareFound is the record as somebody who had looked at the list has opened it.
func bareFound(s State) State {
	at := observed.StampOf(fencetest.Start)
	s.sh.machine = true
	s.st = api.NodeFenceStatus{
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, PhaseSince: &at,
		Evidence: []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateNoNode, Mark: at, Since: at}},
	}
	return s
}

func (s *State) bareKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isBare() {
		return nil
	}
	failed := slices.ContainsFunc(s.st.Evidence, func(e api.Evidence) bool { return e.Type == api.TriggerMachine })
	k := []any{"bare", failed, s.sh.machine, s.sh.asked, age(s.sh.decided, facts.AdmissionValidity(&s.spec.Decision)), age(s.st.DecidedAt, facts.AdmissionValidity(&s.spec.Decision))}
	if m := s.st.Machine; m != nil {
		k = append(k, m.Tries, age(&m.AskedAt, promisedShow-1))
	}
	return k
}

// bareBases vary what there is to be seen of it: whether a Node has its name, and the brakes.
func bareBases(s *State, now time.Time) []observed.Look {
	x := usual(s, now, "Unknown", false, "a")
	x.Lease.Exists = false
	named := x
	named.Node = observed.Node{Exists: true, UID: "uid-1"}
	all := []observed.Look{named}
	for _, b := range []observed.Brakes{{Looked: true, Counted: true}, {}, {Looked: true, Stopped: true}, {Looked: true, Paused: true}, {Looked: true, Storm: true}} {
		x.Brakes = b
		all = append(all, vary(s, now, x)...)
	}
	return all
}

// bareLooks: it is listed still, or no more; the usual look is of one who does not look.
func bareLooks(s *State, with func(func(*observed.Look))) {
	if s.isBare() {
		with(func(y *observed.Look) { y.MachineLooked, y.Machine = true, bareMachine(s, true) })
		with(func(y *observed.Look) { y.MachineLooked = true })
	}
}

func checkBare(s *State, sh *shadow, f *api.NodeFence, seen *observed.Look, a *api.NodeFenceStatus, act fence.Action, now time.Time, say func(bool, string)) {
	say(act != fence.DeleteMachine || s.isBare(), "S1: a Machine is deleted by its name only where it has no node")
	if !s.isBare() {
		return
	}
	say(slices.Contains([]fence.Action{fence.None, fence.Resolve, fence.Reserve, fence.WriteReport, fence.DropFinalizer, fence.DeleteMachine}, act), "S6: a Machine that has no node has nothing to be switched, marked or released")
	say(a.Proof == nil && a.Release.StartedAt == nil && a.Phase != api.Releasing && a.Phase != api.PoweringOn, "S1: nothing is proven of a Machine that has no node, and nothing released")
	if a.Outcome == api.MachineListedNoMore && s.st.Outcome == "" {
		say(s.st.Machine != nil && seen.MachineLooked && seen.Machine == nil, "S2: that its deletion was asked for is no evidence of it")
	}
	say(a.Phase != api.Fenced && a.Phase != api.Failed, "S27: there is no node whose return would end this")
	if act != fence.DeleteMachine {
		return
	}
	say(sh.machine && !seen.Node.Exists, "S17: no Machine is deleted that is listed no more, or whose name a Node has")
	say(clear(seen.Brakes) && f.Spec.Requests.Abort == nil && !seen.Deleting, "S25: no Machine is deleted while a brake is on, or after an abort")
	say(sh.decided != nil && now.Sub(sh.decided.Time) <= promisedDecisionOf(&s.spec.Decision), "S17: no Machine is deleted on an old decision")
	r := a.Machine
	say(r != nil && r.AskedAt.Time.Equal(observed.StampOf(now).Time) && sh.asked < s.spec.Decision.Settings.Power.Attempts, "S8: each try is saved before it is made, and there are no more than are allowed")
}
