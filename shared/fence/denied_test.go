package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// denying runs a fence at a device that refuses our account each time, until it has failed
// or the time is over, and gives when the device was asked.
func denying(f *api.NodeFence, s observed.Look, now time.Time) (asked []time.Time, end time.Time) {
	until := now.Add(time.Hour)
	for now.Before(until) {
		s.Reserved, s.Node.Taint = &now, f.Status.Placed.Taint
		st, act := fence.Decide(f, s, now)
		f.Status, s.Call = st, nil
		switch {
		case act.Device():
			asked = append(asked, now)
			s.Call = &observed.CallResult{Call: api.Call(act), At: now, Err: "device denied access: wrong password", Denied: true, Refused: act != fence.Read}
		case act == fence.None && st.Phase == api.Failed:
			return asked, now
		case act == fence.None && st.NextLook != nil && st.NextLook.After(now):
			now = st.NextLook.Time
		case act == fence.None:
			now = now.Add(time.Second)
		}
	}
	return asked, now
}

// TestAWrongPasswordLocksNoAccount: after three refusals in a row the device is asked
// rarely, over restarts of the flow, also when an Off was sent before; a retry of a person
// who has mended the Secret asks at once.
func TestAWrongPasswordLocksNoAccount(t *testing.T) {
	for name, begun := range map[string]bool{"nothing was sent yet": false, "an Off was sent": true} {
		t.Run(name, func(t *testing.T) {
			now := fencetest.Start.Add(time.Hour)
			f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
				f.Status.Decision.Settings.Power = (*api.Power)(nil).Settings()
				if at := observed.StampOf(now); begun {
					f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &at}, Cuts: 1, OffCalls: 1, CutAt: &at, Cut: []int32{0}}
				}
			})
			asked, now := denying(f, s, now)
			if len(asked) < 4 {
				t.Fatalf("it was asked %d times only", len(asked))
			}
			for i := 3; i < len(asked); i++ {
				if gap := asked[i].Sub(asked[i-1]); gap < facts.DeniedPause {
					t.Errorf("try %d came %s after the one before", i+1, gap)
				}
			}
			if took := asked[2].Sub(asked[0]); took > time.Minute {
				t.Errorf("three tries took %s", took)
			}
			if f.Status.Phase != api.Failed {
				return // it goes on, as slowly
			}
			f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "kim", At: metav1.NewTime(now)}
			again, _ := denying(f, s, now)
			if len(again) == 0 || again[0].Sub(now) > time.Minute {
				t.Errorf("after a retry it was asked at %v, from %s on", again, now)
			}
		})
	}
}

// TestARetryEndsTheWait, whatever the phase is: who asks for it has mended something. It
// is good for one try.
func TestARetryEndsTheWait(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, tc := range map[string]struct {
		refused, asked time.Duration
		want           fence.Action
	}{
		"no retry":                 {time.Minute, 0, fence.None},
		"a retry since":            {time.Minute, 30 * time.Second, fence.Read},
		"a retry before that":      {time.Minute, 2 * time.Minute, fence.None},
		"it was refused long ago":  {facts.DeniedPause, 0, fence.Read},
		"almost as long ago as so": {facts.DeniedPause - time.Second, 0, fence.None},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
				b := f.Status.Decision.Power(0)
				f.Status.Power.Denied = []api.Denied{{Device: b.Driver + " " + b.Address, Count: facts.DeniedTries, At: observed.StampOf(now.Add(-tc.refused))}}
				if tc.asked > 0 {
					at := metav1.NewTime(fencetest.Start) // by her own clock, which is compared with nobody's
					f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "kim", At: at}
					f.Status.Answers = []api.RequestAnswer{{Request: api.AskedRetry, At: at, Result: api.Done, AnsweredAt: observed.StampOf(now.Add(-tc.asked))}}
				}
			})
			if _, got := fence.Decide(f, s, now); got != tc.want {
				t.Errorf("it does %q, want %q", got, tc.want)
			}
		})
	}
}

// TestARefusedAccountTakesNoSlotForAnActivityCheck: while the device is left alone, a fence
// whose activity check it is waits at the gate, and its slot is another's (S14).
func TestARefusedAccountTakesNoSlotForAnActivityCheck(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for refused, want := range map[bool]api.Phase{true: api.Pending, false: api.Probing} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			specs.DeviceAlone().To(f)
			f.Status.Phase, f.Status.DecidedAt, f.Status.CutOrReleased = api.Pending, nil, true
			f.Status.Placed, s.Node.Taint, s.Resolved, s.MayCheck = api.Placed{}, false, true, true
			if b := f.Status.Decision.Power(0); refused {
				f.Status.Power.Denied = []api.Denied{{Device: b.Driver + " " + b.Address, Count: facts.DeniedTries, At: observed.StampOf(now)}}
			}
		})
		for range 6 {
			var act fence.Action
			if f.Status, act = fence.Decide(f, s, now); act == fence.Check {
				s.Checked = &observed.Checked{Round: f.Status.ActivityChecks.Number, Results: []api.CheckResult{{Check: facts.DeviceCheck(1)}}}
			}
		}
		if f.Status.Phase != want || refused && f.Status.Reason != api.DeviceDenied {
			t.Errorf("refused %t: %s, %s: %s", refused, f.Status.Phase, f.Status.Reason, f.Status.Message)
		}
	}
}

// TestAWrongPasswordLocksNoAccountOfASwitch: the devices of the isolation are bounded by
// the same rule, whether access is taken or given back. A fence that must cut waits for
// them without a slot, and any other goes on without.
func TestAWrongPasswordLocksNoAccountOfASwitch(t *testing.T) {
	type seen struct {
		Asked int
		Phase api.Phase
		// Held: it waited at the gate.
		Held bool
	}
	for name, tc := range map[string]struct {
		change func(f *api.NodeFence)
		want   seen
	}{
		"it must be cut":     {func(*api.NodeFence) {}, seen{9, api.Failed, true}},
		"it need not be cut": {func(f *api.NodeFence) { f.Status.Decision.Isolation()[0].Must = false }, seen{3, api.Fencing, false}},
		"it has refused us before, and need not be cut": {func(f *api.NodeFence) {
			f.Status.Decision.Isolation()[0].Must = false
			f.Status.Power.Denied = []api.Denied{{Device: "switch 7", Count: facts.DeniedTries, At: observed.StampOf(fencetest.Start.Add(time.Minute))}}
		}, seen{0, api.Fencing, false}},
		"it is to give access back": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.CutOrReleased = api.Restoring, true
			f.Status.Isolation[0].SwitchedByUs = true
		}, seen{15, api.Restoring, false}},
		"it is to give access back, and a person has ended the record": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.CutOrReleased = api.Restoring, true
			f.Status.Isolation[0].SwitchedByUs, f.Spec.Requests.Abort = true, &api.AbortRequest{By: "kim"}
		}, seen{3, api.Recovering, false}},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(specs.Fabric(), api.Isolating)
			f.Status.Decision.Settings.Power = (*api.Power)(nil).Settings()
			tc.change(f)
			if !f.Status.Decision.Isolation()[0].Must {
				f.Status.Decision.Settings.Power.Attempts = 30
			}
			asked, held := refusing(f, now, 61*time.Minute)
			if d := cmp.Diff(tc.want, seen{len(asked), f.Status.Phase, held}); d != "" {
				t.Errorf("%s (%s: %s)", d, f.Status.Reason, f.Status.Message)
			}
			for i := facts.DeniedTries; i < len(asked); i++ {
				if gap := asked[i].Sub(asked[i-1]); gap < facts.DeniedPause {
					t.Errorf("try %d came %s after the one before", i+1, gap)
				}
			}
		})
	}
}

// refusing runs a fence whose switch refuses our account each time, until it has nothing
// more to say to it, and gives when it was asked and whether the gate was waited at.
func refusing(f *api.NodeFence, now time.Time, lasts time.Duration) (asked []time.Time, held bool) {
	for end := now.Add(lasts); now.Before(end); {
		s := fencetest.Look(f, now, "Unknown", false, "a")
		s.Reserved, s.Resolved = &now, true
		for {
			st, act := fence.Decide(f, s, now)
			f.Status, s.Call = st, nil
			if !act.Device() {
				break
			}
			if facts.Claimed(f) == nil {
				return asked, held
			}
			asked = append(asked, now)
			s.Call = &observed.CallResult{Call: api.Call(act), At: now, Err: "device denied access: wrong password", Denied: true, Refused: act != fence.Read}
		}
		held = held || f.Status.Phase == api.Pending && f.Status.Reason == api.DeviceDenied
		if p := f.Status.Phase; p != api.Isolating && p != api.Restoring && p != api.Pending {
			return asked, held
		}
		if next := f.Status.NextLook; next != nil && next.After(now) {
			now = next.Time
		} else {
			now = now.Add(time.Second)
		}
	}
	return asked, held
}

// TestNoDeviceNoWait: a policy by which no device is spoken with waits for none.
func TestNoDeviceNoWait(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, tc := range map[string]struct {
		action  api.FenceAction
		refuses string
		want    api.Phase
	}{
		"no device is touched, and the switch refuses":      {api.ActionIsolate, "switch 7", api.Isolating},
		"no device is touched, and the power's own refuses": {api.ActionIsolate, "own", api.Isolating},
		"the power is cut, and the switch refuses":          {api.ActionOff, "switch 7", api.Pending},
	} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.Devices, f.Status.Decision.Settings.Action = specs.Fabric().Decision.Devices, tc.action
			f.Status.Phase, f.Status.DecidedAt, f.Status.CutOrReleased, s.Resolved = api.Pending, nil, true, true
			f.Status.Placed, s.Node.Taint = api.Placed{}, false
			if tc.refuses == "own" {
				tc.refuses = f.Status.Decision.Power(0).Driver + " " + f.Status.Decision.Power(0).Address
			}
			f.Status.Power.Denied = []api.Denied{{Device: tc.refuses, Count: facts.DeniedTries, At: observed.StampOf(now)}}
		})
		if st, _ := fence.Decide(f, s, now); st.Phase != tc.want {
			t.Errorf("%s: %s, %s: %s", name, st.Phase, st.Reason, st.Message)
		}
	}
}

// TestAWrittenSecretEndsThePause: whoever mends the Secret waits for nothing. The device is asked
// once. If it refuses again it is left alone again, so that a Secret that is written again and
// again, with nothing new in it, locks no account.
func TestAWrittenSecretEndsThePause(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		was, is string
		known   bool
		count   int32
		ago     time.Duration
		want    fence.Action
	}{
		"as it was":                      {"v1", "v1", true, facts.DeniedTries, time.Minute, fence.None},
		"written since":                  {"v1", "v2", true, facts.DeniedTries, time.Minute, fence.Read},
		"it can't be read now":           {"v1", "", true, facts.DeniedTries, time.Minute, fence.None},
		"nobody has looked":              {"v1", "", false, facts.DeniedTries, time.Minute, fence.None},
		"it was not known at the time":   {"", "v2", true, facts.DeniedTries, time.Minute, fence.None},
		"written, and the pause is over": {"v1", "v2", true, facts.DeniedTries, facts.DeniedPause, fence.Read},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
				f.Status.Power.Denied = []api.Denied{{Device: f.Status.Decision.Power(0).Words(), Count: c.count, At: observed.StampOf(now.Add(-c.ago)), Credentials: c.was}}
			})
			versions := map[string]string{}
			if c.known {
				versions[f.Status.Decision.Power(0).Words()] = c.is
			}
			changed := fence.NoteCredentials(f, versions, now)
			if wants := c.want == fence.Read && c.ago < facts.DeniedPause; changed != wants || changed && !f.Status.NextLook.Equal(new(observed.StampOf(now))) {
				t.Errorf("changed %t, next look %v", changed, f.Status.NextLook)
			}
			st, got := fence.Decide(f, s, now)
			if got != c.want {
				t.Fatalf("it does %q, want %q", got, c.want)
			}
			if !changed {
				return
			}
			f.Status = st
			s.Call = &observed.CallResult{Call: api.CallRead, At: now, Err: "device denied access", Denied: true, Credentials: "v2"}
			st, _ = fence.Decide(f, s, now)
			want := []api.Denied{{Device: f.Status.Decision.Power(0).Words(), Count: facts.DeniedTries, At: observed.StampOf(now), Credentials: "v2"}}
			if d := cmp.Diff(want, st.Power.Denied); d != "" {
				t.Error(d)
			}
			if f.Status = st; fence.NoteCredentials(f, versions, now) {
				t.Error("the same version ends the pause again")
			}
		})
	}
}
