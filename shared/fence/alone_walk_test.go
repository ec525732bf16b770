package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The walk of the record of a Machine that has no node.

func bareSpec() given {
	s := walkSpec()
	s.Decision.NodeUID, s.Decision.Devices, s.Decision.Settings.Power.Attempts = "", nil, 2
	s.Decision.Trigger = api.Trigger{Type: api.TriggerMachine, Since: stampOf(walkStart), Machine: &api.MachineTrigger{MachineRef: api.MachineRef{Namespace: "m", Name: "n", UID: "x", Owner: "pool"}, State: api.MachineStateNoNode}}
	return s
}

func (s *state) isBare() bool { return s.spec.Decision.Trigger.OnlyMachine() }

func bareMachine(s *state, listed bool) *api.FailedMachine {
	if !s.isBare() || !listed {
		return nil
	}
	return &api.FailedMachine{MachineRef: s.spec.Decision.Trigger.Machine.MachineRef, State: api.MachineStateNoNode, Since: stampOf(walkStart)}
}

// bareFound is the record as somebody who had looked at the list has opened it.
func bareFound(s state) state {
	at := stampOf(walkStart)
	s.sh.machine = true
	s.st = api.NodeFenceStatus{
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.SchemaPlain, OpenedAt: &at, PhaseSince: &at,
		Evidence: []api.Evidence{{Type: api.TriggerMachine, MachineState: api.MachineStateNoNode, Mark: at, Since: at}},
	}
	return s
}

func (s *state) bareKey(age func(*api.Time, ...time.Duration) string) []any {
	if !s.isBare() {
		return nil
	}
	failed := slices.ContainsFunc(s.st.Evidence, func(e api.Evidence) bool { return e.Type == api.TriggerMachine })
	k := []any{"bare", failed, s.sh.machine, s.sh.asked, age(s.sh.decided, DecisionValidity), age(s.st.DecidedAt, DecisionValidity)}
	if m := s.st.Machine; m != nil {
		k = append(k, m.Tries, age(&m.AskedAt, machineShows-1))
	}
	return k
}

// bareBases vary what there is to be seen of it: whether a Node has its name, and the brakes.
func bareBases(s *state, now time.Time) []Seen {
	x := usual(s, now, "Unknown", false, "a")
	x.Lease.Exists = false
	named := x
	named.Node = Node{Exists: true, UID: "uid-1"}
	all := []Seen{named}
	for _, b := range []Brakes{{Looked: true, Counted: true}, {}, {Looked: true, Stopped: true}, {Looked: true, Paused: true}, {Looked: true, Storm: true}} {
		x.Brakes = b
		all = append(all, vary(s, now, x)...)
	}
	return all
}

// bareLooks: it is listed still, or no more; the usual look is of one who does not look.
func bareLooks(s *state, with func(func(*Seen))) {
	if s.isBare() {
		with(func(y *Seen) { y.MachineLooked, y.Machine = true, bareMachine(s, true) })
		with(func(y *Seen) { y.MachineLooked = true })
	}
}

func checkBare(s *state, sh *shadow, f *api.NodeFence, seen *Seen, a *api.NodeFenceStatus, act Action, now time.Time, say func(bool, string)) {
	say(act != DeleteMachine || s.isBare(), "S1: a Machine is deleted by its name only where it has no node")
	if !s.isBare() {
		return
	}
	say(slices.Contains([]Action{None, Resolve, Reserve, DropFinalizer, DeleteMachine}, act), "S6: a Machine that has no node has nothing to be switched, marked or released")
	say(a.Proof == nil && a.Release.StartedAt == nil && a.Phase != api.Releasing && a.Phase != api.PoweringOn, "S1: nothing is proven of a Machine that has no node, and nothing released")
	if a.Outcome == api.MachineListedNoMore && s.st.Outcome == "" {
		say(s.st.Machine != nil && seen.MachineLooked && seen.Machine == nil, "S2: that its deletion was asked for is no evidence of it")
	}
	say(a.Phase != api.Fenced && a.Phase != api.Failed, "S27: there is no node whose return would end this")
	if act != DeleteMachine {
		return
	}
	say(sh.machine && !seen.Node.Exists, "S17: no Machine is deleted that is listed no more, or whose name a Node has")
	say(clear(seen.Brakes) && f.Spec.Requests.Abort == nil && !seen.Deleting, "S25: no Machine is deleted while a brake is on, or after an abort")
	say(sh.decided != nil && now.Sub(sh.decided.Time) <= promisedDecision, "S17: no Machine is deleted on an old decision")
	r := a.Machine
	say(r != nil && r.AskedAt.Time.Equal(stampOf(now).Time) && sh.asked < s.spec.Decision.Settings.Power.Attempts, "S8: each try is saved before it is made, and there are no more than are allowed")
}

// brokenBare are those that lack a guard of such a record.
var brokenBare = map[string]decider{
	"deletes a Machine that is listed no more": before(func(f *api.NodeFence, s *Seen, _ time.Time) {
		s.MachineLooked = false
	}),
	"deletes a Machine whose name a Node has": before(func(_ *api.NodeFence, s *Seen, _ time.Time) { s.Node = Node{} }),
	"deletes a Machine while a brake is on":   before(func(_ *api.NodeFence, s *Seen, _ time.Time) { s.Brakes = Brakes{Looked: true, Counted: true} }),
	"deletes a Machine after an abort":        before(func(f *api.NodeFence, _ *Seen, _ time.Time) { f.Spec.Requests.Abort = nil }),
	"deletes a Machine on an old decision":    before(func(f *api.NodeFence, _ *Seen, now time.Time) { at := stampOf(now); f.Status.DecidedAt = &at }),
	"deletes a Machine for ever": before(func(f *api.NodeFence, _ *Seen, _ time.Time) {
		if m := f.Status.Machine; m != nil {
			f.Status.Machine = &api.MachineRecord{AskedAt: m.AskedAt, Tries: -9}
		}
	}),
	"takes what it has asked for as done": before(func(f *api.NodeFence, s *Seen, _ time.Time) {
		if f.Status.Machine != nil {
			s.MachineLooked, s.Machine = true, nil
		}
	}),
	"releases what it finds under a Machine's name": after(func(st *api.NodeFenceStatus, act Action, now time.Time) {
		if act == DeleteMachine {
			st.Phase = api.Releasing
		}
	}),
}
