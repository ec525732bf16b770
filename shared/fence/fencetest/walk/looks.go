package walk

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// looks appends all that can be seen next from a state. Dimensions that the phase
// does not read are not varied; everything else is, in every combination.
func looks(s *State, all []look) []look {
	if s.isCounted() {
		return append(all, countedLooks(s)...)
	}
	if s.isJoined() || s.isReported() {
		return append(all, joinedLooks(s)...)
	}
	for _, dt := range waits(s) {
		now := s.now.Add(dt)
		for _, base := range bases(s, now) {
			for _, who := range callers(s, now) {
				seen := base
				seen.Me, seen.Call = who.me, who.call
				all = append(all, look{dt: dt, seen: seen})
				if seen.Call != nil && s.st.Phase == api.Fencing && !climbed(s) { // the second level is handed over by the same lines
					seen.HandsOver = true
					all = append(all, look{dt: dt, seen: seen})
				}
			}
		}
		all = append(all, asking(s, dt, now)...)
	}
	return all
}

// atDevice: the fence is read, or switched off, now.
func (s *State) atDevice() bool { return s.st.Phase == api.Probing || s.st.Phase == api.Fencing }

// waits are the times at which the next look can come: at once, when it is due,
// and past each limit that this phase has.
func waits(s *State) []time.Duration {
	all := []time.Duration{0}
	if n := s.st.NextLook; n != nil && n.After(s.now) {
		all = append(all, n.Sub(s.now))
	}
	if c := s.st.Claim; c != nil && c.Call != api.CallRead && (!s.isRestored() || c.NotAfter.After(s.now)) {
		all = append(all, c.NotAfter.Sub(s.now)+time.Second) // over, and its effect may still come
	}
	all = append(all, lateReads(s)...)
	all = append(all, longWaits(s)...)
	all = append(all, drainWaits(s)...)
	all = append(all, lieWaits(s)...)
	if s.spec.Decision.Asker() != nil && !s.st.CutOrReleased && (s.st.Phase == api.Pending || s.atDevice()) {
		all = append(all, api.RequestValidity+time.Second)
	}
	if climbed(s) && s.st.Phase != api.Releasing {
		return append(all, 11*time.Second)
	}
	if s.isEarly() {
		all = append(all, specs.EarlyFor+time.Second)
		if s.atDevice() {
			return append(all, 61*time.Second) // no Off waits for its effect
		}
	}
	switch s.st.Phase {
	case api.Releasing:
		if s.isGentle() {
			all = append(all, 131*time.Second)
		}
		return append(all, 31*time.Second, 51*time.Second)
	case api.Recovering:
		if all = append(all, 71*time.Second); s.st.Report != nil && s.mayMissReport() {
			all = append(all, facts.ReportWithin+time.Second)
		}
		return all
	case api.Failed, api.Fenced:
		return all
	case api.Probing, api.Fencing:
		return append(all, 11*time.Second, 61*time.Second)
	}
	return append(all, 61*time.Second)
}

// bases vary node, Lease and boot, and what else the phase looks at.
func bases(s *State, now time.Time) []observed.Look {
	if s.isBare() {
		return bareBases(s, now)
	}
	var all []observed.Look
	boots := []string{"a", "b"}
	if climbed(s) || s.isHeld() && !s.isRestored() {
		boots = boots[:1] // varied elsewhere, where the same lines decide
	} else if s.isWord() || s.st.Phase == "" || s.st.Phase == api.Pending || s.st.Phase == api.Draining || s.st.Phase == api.Isolating && !s.cutOnly() || s.st.Phase == api.Recovering || s.isEarly() {
		boots = boots[:1] // the boot is not read here, or like in any other fence
	}
	for _, ready := range []string{"True", "Unknown"} {
		for _, moved := range []bool{false, true} {
			for _, boot := range boots {
				all = append(all, vary(s, now, usual(s, now, ready, moved, boot))...)
			}
		}
	}
	if climbed(s) {
		x := usual(s, now, "Unknown", false, "a")
		x.Brakes = observed.Brakes{Looked: true, Counted: true, Storm: true}
		return append(all, x)
	}
	for _, uid := range []string{"uid-2", ""} {
		x := usual(s, now, "Unknown", false, "a")
		x.Node.UID, x.Node.Exists = "uid-2", uid != ""
		all = append(append(all, x), wentLooks(s, now, x)...)
	}
	for _, brake := range []observed.Brakes{{}, {Looked: true, Counted: true, Stopped: true}, {Looked: true, Counted: true, Paused: true}, {Looked: true, Counted: true, Storm: true}} {
		x := usual(s, now, "Unknown", false, "a")
		x.Brakes = brake
		all = append(all, x)
	}
	return append(all, liveLooks(s, now)...)
}

// usual is a look at a world in which marks are as they were placed.
func usual(s *State, now time.Time, ready string, moved bool, boot string) observed.Look {
	seen := fencetest.LookOf(&s.st, s.sh.renewed, now, ready, moved, boot)
	if s.isBare() {
		seen.Node = observed.Node{}
	}
	if s.mayLie() {
		seen.Node.Heartbeat = heartbeatBefore
	}
	seen.ReservedCall = s.spec.Decision.DeviceCallTimeout.Duration
	seen.Report = s.usualReport()
	return seen
}

// vary adds what only some phases look at.
func vary(s *State, now time.Time, x observed.Look) []observed.Look {
	all := []observed.Look{x}
	with := func(change func(*observed.Look)) { y := x; change(&y); all = append(all, y) }
	earlyLooks(s, with)
	readLooks(s, with)
	kdumpLooks(s, now, x, with)
	gentleLooks(s, with)
	cutLooks(s, with)
	goneLooks(s, with)
	machineLooks(s, now, with)
	bareLooks(s, with)
	holdLooks(s, now, with)
	untainted(s, with)
	drainLooks(s, with)
	lieLooks(s, with)
	dryLooks(s, now, with)
	switch s.st.Phase {
	case "", api.Pending:
		checkedLooks(s, with)
		old := now.Add(-2 * facts.AdmissionValidity(&s.spec.Decision))
		with(func(y *observed.Look) { y.HandsOver = true })
		with(func(y *observed.Look) { y.Reserved = nil })
		with(func(y *observed.Look) { y.Reserved, y.Resolved = nil, false })
		with(func(y *observed.Look) { y.Brakes.Changed = true })
		with(func(y *observed.Look) { y.Reserved = &old })
		with(func(y *observed.Look) {
			y.Reserved, y.Verdict = nil, &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "5 of 10", Again: time.Second}
		})
	case api.Isolating:
		with(func(y *observed.Look) { y.Node.Taint = !y.Node.Taint })
		with(func(y *observed.Look) { y.HandsOver = true })
		if len(s.spec.Decision.Isolation()) == 0 {
			with(func(y *observed.Look) { y.Node.Cordoned, y.Node.CordonOurs = true, false })
		}
	case api.Releasing:
		pods := &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1, Volumes: []string{"v"}}
		with(func(y *observed.Look) { y.Left = pods })
		with(func(y *observed.Look) { y.Left = &observed.Left{Attachments: 1} })
		with(func(y *observed.Look) { y.Left = nil })
		with(func(y *observed.Look) { y.Left, y.Node.OutOfService = pods, false })
		with(func(y *observed.Look) { y.Left, y.Node.Taint = pods, false })
		with(func(y *observed.Look) { y.Node.OutOfService = false })
		with(func(y *observed.Look) { y.Node.OutOfService, y.Cleared = false, true })
	case api.Recovering:
		reportLooks(s, with)
		with(func(y *observed.Look) { y.Node.OutOfService, y.Cleared = false, true })
		with(func(y *observed.Look) { y.Finalizer = false })
		with(func(y *observed.Look) { y.Finalizer, y.Node.Taint = false, false })
		with(func(y *observed.Look) { y.Node.Taint, y.Node.Cordoned, y.Node.OutOfService = false, false, false })
		with(func(y *observed.Look) {
			y.Finalizer, y.Node.Taint, y.Node.Cordoned, y.Node.OutOfService = false, false, false, false
		})
	case api.Probing, api.Fencing, api.PoweringOn:
		with(func(y *observed.Look) { y.Lease.Exists = false })
	}
	return all
}

type caller struct {
	me   string
	call *observed.CallResult
}

// callers: whoever made the call that is claimed reports each of its ends;
// anybody else comes by with empty hands.
func callers(s *State, now time.Time) []caller {
	all := []caller{{me: "another"}}
	c := s.st.Claim
	if c == nil {
		return []caller{{me: "me"}}
	}
	at := s.now
	end := func(r observed.CallResult) { r.Call, r.At = c.Call, at; all = append(all, caller{c.Holder, &r}) }
	if c.Call == api.CallRead {
		end(observed.CallResult{Power: "On"})
		end(observed.CallResult{Power: "Off"})
		end(observed.CallResult{Err: "unreachable"})
		end(observed.CallResult{Err: "another machine", Wrong: true})
		supplyEnds(s, end)
	} else {
		end(observed.CallResult{})
		end(observed.CallResult{Err: "unreachable"})
		if s.waitsForTurn() {
			end(observed.CallResult{NotMade: true})
		}
		if c.Call == api.CallOff && s.st.Phase == api.Fencing && s.st.Restarts == 0 && !climbed(s) {
			end(observed.CallResult{Err: "denied", Refused: true})
		}
	}
	// A late end, of a call whose claim is not there any more.
	all = append(all, caller{"late", &observed.CallResult{Call: api.CallRead, Power: "Off", At: at}})
	return all
}

// asking is what people ask, each wish in a world that is otherwise as usual.
func asking(s *State, dt time.Duration, now time.Time) []look {
	var all []look
	readies, moves := []string{"True", "Unknown"}, []bool{false, true}
	if climbed(s) || s.isHeld() {
		readies, moves = readies[1:], moves[:1]
	}
	for _, ready := range readies {
		for _, moved := range moves {
			x := usual(s, now, ready, moved, "a")
			if s.st.Claim != nil {
				x.Me = "another"
			}
			del := x
			del.Deleting = true
			all = append(all, look{dt: dt, seen: x, abort: true}, look{dt: dt, seen: x, retry: true},
				look{dt: dt, seen: x, confirm: true}, look{dt: dt, seen: del})
			all = append(all, uncordoned(s, dt, x)...)
			all = append(all, trusting(s, dt, x)...)
			if (s.drains() && s.skips() || s.mayBeTooLate()) && !s.sh.withdrawn {
				all = append(all, look{dt: dt, seen: x, withdrawn: true})
			}
		}
	}
	return all
}
