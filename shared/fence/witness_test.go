package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// deviceSpec is of a fence whose policy asks a kubelet's port and the machine's
// device; aloneSpec asks the device alone.
func deviceSpec() fencetest.Given {
	s := activitySpec()
	p := *s.Decision.Settings.ActivityChecks
	p.Checks = append(p.Checks[:1:1], api.CheckSettings{Type: api.CheckDevice})
	s.Decision.Settings.ActivityChecks = &p
	return s
}

func aloneSpec() fencetest.Given {
	s := deviceSpec()
	s.Decision.Settings.ActivityChecks.Checks = s.Decision.Settings.ActivityChecks.Checks[1:]
	return s
}

func (s *state) asksDevice() bool {
	p := s.spec.Decision.Settings.ActivityChecks
	return p != nil && p.Checks[len(p.Checks)-1].Type == api.CheckDevice
}

func (s *state) alone() bool { return len(s.spec.Decision.Settings.ActivityChecks.Checks) == 1 }

// reads: the machine is being read as a check.
func (s *state) reads() bool {
	return s.st.Phase == api.Fencing && s.st.ActivityChecks != nil && s.st.ActivityChecks.Reading
}

func (s *state) witnessKey() string {
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
func deviceLooks(s *state, r *api.CheckRound, with func(func(*fence.Seen))) {
	device := api.CheckResult{Check: fence.DeviceCheck(1)}
	if s.alone() {
		with(func(y *fence.Seen) { y.Checked = &fence.Checked{Round: r.Number, Results: []api.CheckResult{device}} })
		return
	}
	device.Check = fence.DeviceCheck(2)
	for _, a := range []api.Answer{api.AnswerActivity, api.AnswerNone, api.AnswerError, ""} {
		with(func(y *fence.Seen) {
			y.Checked = &fence.Checked{Round: r.Number, Results: []api.CheckResult{{Check: "1", Answer: a}, device}}
		})
	}
}

// device is what a round with a check of the device has come to, if it is over:
// others is kept in the shadow from the look at which they answered.
func (w *witnesses) device(s *state, seen fence.Seen, r *api.CheckRound, now time.Time) map[api.Answer]bool {
	if w.round != r.Number {
		w.round, w.others = r.Number, ""
	}
	c := seen.Checked
	if c != nil && !c.Storage && c.Round == r.Number && !s.alone() {
		w.others = c.Results[0].Answer
	}
	over := now.Sub(r.StartedAt.Time) > 5*time.Second+fence.CheckGrace
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
func (w *walker) checkWitness(s *state, sh *shadow, a *api.NodeFenceStatus, act fence.Action, say func(bool, string)) bool {
	if !s.asksDevice() || act != fence.Read || a.ActivityChecks == nil || a.ActivityChecks.StartedAt == nil {
		return false
	}
	say(s.alone() || sh.others == api.AnswerNone, "activityChecks: the machine is read only where every other check saw nothing")
	say(sh.decided != nil || !a.DecidedAt.IsZero(), "S14: the machine is read under a slot")
	return true
}

// brokenWitness are Decides that lack one guard of the device's check each.
var brokenWitness = map[string]decider{
	"takes a machine that is on for dead": onRead(func(c *fence.CallResult) bool { return c.Power == "On" }, "Off"),
	"takes unknown power for off":         onRead(func(c *fence.CallResult) bool { return c.Power == "" && !c.Wrong }, "Off"),
	"takes another machine's off for this one's": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if c := s.Call; asCheck(f) && c != nil && c.Wrong {
			c.Wrong, c.Power = false, "Off"
		}
	}),
	"takes unknown power for on": onRead(func(c *fence.CallResult) bool { return c.Power == "" && !c.Wrong }, "On"),
	"reads the machine before the others have answered": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		eachAnswer(s, func(a api.Answer) api.Answer {
			if a == "" && s.Checked.Results[0].Check == "1" {
				return api.AnswerNone
			}
			return a
		})
		if s.Checked != nil {
			s.Checked.Results[len(s.Checked.Results)-1].Answer = ""
		}
	}),
	"cuts the power instead of going back": before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if asCheck(f) && s.Call == nil {
			f.Status.ActivityChecks.Reading = false
		}
	}),
	"goes on from the read without the gate": func(f *api.NodeFence, s fence.Seen, now time.Time) (api.NodeFenceStatus, fence.Action) {
		st, act := fence.Decide(f, s, now)
		if asCheck(f) && st.Phase == api.Pending && st.ActivityChecks != nil && st.ActivityChecks.Failed > 0 {
			st.Phase = api.Isolating
		}
		return st, act
	},
}

func asCheck(f *api.NodeFence) bool {
	return f.Status.Phase == api.Fencing && f.Status.ActivityChecks != nil && f.Status.ActivityChecks.Reading
}

func onRead(which func(*fence.CallResult) bool, power string) decider {
	return before(func(f *api.NodeFence, s *fence.Seen, _ time.Time) {
		if c := s.Call; asCheck(f) && c != nil && c.Call == api.CallRead && which(c) {
			c.Power, c.Err = power, ""
		}
	})
}

// TestTheDevicesAnswer: what each reading is worth, and that the slot is given back.
func TestTheDevicesAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		spec   fencetest.Given
		call   fence.CallResult
		answer api.Answer
		says   string
		done   int32
		failed int32
	}{
		"off is a witness for dead":                  {aloneSpec(), fence.CallResult{Power: "Off"}, api.AnswerNone, "reads off", 1, 1},
		"on alone is done, and has not failed":       {aloneSpec(), fence.CallResult{Power: "On"}, api.AnswerNeither, "is on", 1, 0},
		"on leaves it to the others":                 {deviceSpec(), fence.CallResult{Power: "On"}, api.AnswerNeither, "is on", 1, 1},
		"off beside the others":                      {deviceSpec(), fence.CallResult{Power: "Off"}, api.AnswerNone, "reads off", 1, 1},
		"unknown is neither, and is repeated (S2)":   {deviceSpec(), fence.CallResult{Err: "timeout"}, api.AnswerError, "timeout", 0, 0},
		"stopping is not stopped":                    {aloneSpec(), fence.CallResult{Err: "stopping", Stopping: true}, api.AnswerError, "stopping", 0, 0},
		"another machine's off is nobody's (S11)":    {aloneSpec(), fence.CallResult{Wrong: true}, api.AnswerError, "another machine", 0, 0},
		"another machine's, whatever power it tells": {aloneSpec(), fence.CallResult{Wrong: true, Power: "Off"}, api.AnswerError, "another machine", 0, 0},
	} {
		at, now := fence.StampOf(fencetest.Start), fencetest.Start.Add(time.Minute)
		started := fence.StampOf(now.Add(-time.Second))
		f := &api.NodeFence{Spec: c.spec.AsSpec(), Status: c.spec.In(api.NodeFenceStatus{})}
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
			Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, DecidedAt: &started,
			Lease:          api.LeaseRecord{Renewed: "r0", StillSince: &at},
			Claim:          &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, At: started, NotAfter: fence.StampOf(now.Add(time.Second))},
			ActivityChecks: &api.ActivityRecord{Reading: true, CheckRound: api.CheckRound{Number: 1, StartedAt: &started, Since: &at}},
		}
		for i, check := range c.spec.Decision.Settings.ActivityChecks.Checks {
			r := api.CheckResult{Check: fmt.Sprintf("%d kubelet", i+1), Answer: api.AnswerNone, Message: "silent"}
			if check.Type == api.CheckDevice {
				r = api.CheckResult{Check: fence.DeviceCheck(i + 1)}
			}
			f.Status.ActivityChecks.Results = append(f.Status.ActivityChecks.Results, r)
		}
		seen := usual(&state{spec: fencetest.GivenBy(f), st: f.Status, sh: shadow{renewed: "r0"}}, now, "Unknown", false, "a")
		c.call.Call, c.call.At = api.CallRead, now
		seen.Call = &c.call
		st, act := fence.Decide(f, seen, now)
		last := st.ActivityChecks.Results[len(st.ActivityChecks.Results)-1]
		if last.Answer != c.answer || !strings.Contains(last.Message, c.says) {
			t.Errorf("%s: %+v", name, last)
		}
		if st.Phase != api.Pending || act != fence.None || st.ActivityChecks.Reading || st.DecidedAt != nil || st.Power.LastRead != nil {
			t.Errorf("%s: %s, action %q, %+v", name, st.Phase, act, st.ActivityChecks)
		}
		if d := cmp.Diff([]int32{c.done, c.failed}, []int32{st.ActivityChecks.Done, st.ActivityChecks.Failed}); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(&started, st.GivenBack); d != "" {
			t.Errorf("%s: the slot: %s", name, d)
		}
	}
}
