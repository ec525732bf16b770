package walk

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

func (s *State) asksDevice() bool {
	p := s.spec.Decision.Settings.ActivityChecks
	return p != nil && p.Checks[len(p.Checks)-1].Type == api.CheckDevice
}

func (s *State) alone() bool { return len(s.spec.Decision.Settings.ActivityChecks.Checks) == 1 }

// reads: the machine is being read as a check.
func (s *State) reads() bool {
	return s.st.Phase == api.Probing && s.st.ActivityChecks != nil && s.st.ActivityChecks.Reading
}

func (s *State) witnessKey() string {
	if !s.asksDevice() {
		return ""
	}
	k := fmt.Sprint(s.alone(), s.sh.others, s.reads())
	for _, c := range s.st.ActivityChecks.Results {
		k += "," + string(c.Answer)
	}
	return k
}

// deviceLooks are what the checks beside the device can say.
func deviceLooks(s *State, r *api.CheckRound, with func(func(*observed.Look))) {
	device := api.CheckResult{Check: facts.DeviceCheck(1)}
	if s.alone() {
		with(func(y *observed.Look) {
			y.Checked = &observed.Checked{Round: r.Number, Results: []api.CheckResult{device}}
		})
		return
	}
	device.Check = facts.DeviceCheck(2)
	for _, a := range []api.Answer{api.AnswerActivity, api.AnswerNone, api.AnswerError, ""} {
		with(func(y *observed.Look) {
			y.Checked = &observed.Checked{Round: r.Number, Results: []api.CheckResult{{Check: "1", Answer: a}, device}}
		})
	}
}

// device is what a round with a check of the device has come to, if it is over:
// others is kept in the shadow from the look at which they answered.
func (w *witnesses) device(s *State, seen observed.Look, r *api.CheckRound, now time.Time) map[api.Answer]bool {
	if w.round != r.Number {
		w.round, w.others = r.Number, ""
	}
	c := seen.Checked
	if c != nil && !c.Storage && c.Round == r.Number && !s.alone() {
		w.others = c.Results[0].Answer
	}
	over := now.Sub(r.StartedAt.Time) > 5*time.Second+promisedGrace
	claim, call := s.st.Claim, seen.Call
	switch read := call != nil && claim != nil && claim.Holder == seen.Me && call.Call == api.CallRead; {
	case w.others == api.AnswerActivity || w.others == api.AnswerError:
		return map[api.Answer]bool{w.others: true}
	case read && call.Power == "Off" && !call.Wrong:
		return map[api.Answer]bool{api.AnswerNone: true}
	case read && call.Power == "On" && !call.Wrong && !s.alone() && w.others == api.AnswerNone:
		return map[api.Answer]bool{api.AnswerNone: true}
	case read && call.Power == "On" && !call.Wrong:
		return map[api.Answer]bool{api.AnswerNeither: true}
	case read || over || s.reads() && claim != nil && !now.Before(claim.NotAfter.Add(2*time.Second)):
		return map[api.Answer]bool{api.AnswerError: true}
	}
	return nil
}

// undecided: a round in which nothing spoke for death was done. After all that are
// required the node is DEGRADED.
func (w witnesses) undecided(now time.Time) witnesses {
	w.done++
	if w.done < 2 {
		return w
	}
	w.done, w.failed = 0, 0
	if w.alive.IsZero() {
		w.alive = now
	}
	return w
}

// checkWitness: a call for the evidence is a read, and it comes last.
func (w *walker) checkWitness(s *State, sh *shadow, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) bool {
	if !s.asksDevice() || act != fence.Read || a.ActivityChecks == nil || a.ActivityChecks.StartedAt == nil {
		return false
	}
	say(s.alone() || sh.others == api.AnswerNone, "activityChecks: the machine is read only where every other check saw nothing")
	say(sh.decided != nil || !a.DecidedAt.IsZero(), "S14: the machine is read under a slot")
	return true
}
