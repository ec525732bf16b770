package fence_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestADeadDeviceKeepsNoFenceFromTheGate: the policy is in DryRun by now, and the switch
// that we cut is dead. What else is ours comes off the node, the fence waits at the gate
// and says what is still cut, the switch is asked less and less often, and a policy that
// wants the node fenced again finds it there (S22, S25).
func TestADeadDeviceKeepsNoFenceFromTheGate(t *testing.T) {
	f, now := isolatedFence(specs.Fabric(), api.Isolating)
	f.Status.Isolation[0].SwitchedByUs = true
	f.Status.Decision.Settings.Power.Attempts = 3
	dead, dryRun, reads := true, true, []time.Duration{}
	taint := true
	var phases []string
	run := func(until time.Time) {
		for i := 0; i < 600 && now.Before(until); i++ {
			if n := f.Status.NextLook; n != nil && n.After(now) {
				now = n.Time
			}
			now = now.Add(time.Millisecond)
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			seen.Me, seen.Node.Taint, seen.Node.Cordoned, seen.Resolved = fmt.Sprint(i), taint, taint, true
			if f.Status.Decision.Settings.Mode = api.ModeEnforce; dryRun {
				f.Status.Decision.Settings.Mode = api.ModeDryRun
				seen.Brakes.Stricter, seen.Brakes.Unmark, seen.Brakes.Why = true, true, api.DryRun
			}
			st, act := fence.Decide(f, seen, now)
			f.Status = st
			switch {
			case act == fence.Undo:
				taint = false
			case act == fence.Isolate:
				taint = true
			case act.Device():
				c := &observed.CallResult{Call: api.Call(act), At: now}
				if reads = append(reads, now.Sub(fencetest.Start)); dead {
					c.Err = "unreachable"
				} else if c.Power = "On"; len(reads)%2 == 1 {
					c.Power = "Off"
				}
				seen.Call = c
				f.Status, _ = fence.Decide(f, seen, now)
			}
			if p := string(f.Status.Phase); len(phases) == 0 || phases[len(phases)-1] != p {
				phases = append(phases, p)
			}
		}
	}
	run(now.Add(time.Hour))
	if d := cmp.Diff([]string{"Restoring", "Recovering", "Pending"}, phases[:min(len(phases), 3)]); d != "" || taint {
		t.Fatalf("taint %v, %s", taint, d)
	}
	if n := len(reads); n < 8 || n > 30 {
		t.Errorf("%d reads in an hour: %v", n, reads)
	}
	for i := 0; i < 40 && f.Status.Phase != api.Pending; i++ {
		run(now.Add(time.Second))
	}
	if f.Status.Phase != api.Pending || f.Status.Reason != api.DryRun {
		t.Fatalf("%s %s: %s", f.Status.Phase, f.Status.Reason, f.Status.Message)
	}
	told := slices.ContainsFunc(f.Status.History, func(h api.HistoryEntry) bool { return h.Reason == api.RestoreFailed })
	if !told || !facts.Owed(f.Status.Isolation[0]) {
		t.Errorf("told %v, %+v", told, f.Status.Isolation[0])
	}
	kept := *f.Status.DeepCopy()
	dryRun, reads = false, nil
	run(now.Add(40 * time.Second))
	if f.Status.Phase != api.Isolating || len(reads) == 0 {
		t.Errorf("the policy wants it fenced again: %s, %d reads: %s", f.Status.Phase, len(reads), f.Status.Message)
	}
	f.Status, dryRun, dead, reads = kept, true, false, nil
	run(now.Add(15 * time.Minute))
	if f.Status.Phase != api.Pending || facts.Owed(f.Status.Isolation[0]) {
		t.Errorf("the switch answers again: %s, %+v", f.Status.Phase, f.Status.Isolation[0])
	}
}

// TestADeadDeviceMakesNoCircle: however its device fails, and whatever else holds the fence,
// it is not sent from the gate to the device and back again and again.
func TestADeadDeviceMakesNoCircle(t *testing.T) {
	for name, c := range map[string]struct {
		call   observed.CallResult
		brakes observed.Brakes
	}{
		"it does not answer":             {observed.CallResult{Err: "unreachable"}, observed.Brakes{}},
		"it refuses the account":         {observed.CallResult{Err: "wrong password", Denied: true}, observed.Brakes{}},
		"everything is paused besides":   {observed.CallResult{Err: "unreachable"}, observed.Brakes{Paused: true}},
		"everything is stopped besides":  {observed.CallResult{Err: "unreachable"}, observed.Brakes{Stopped: true}},
		"it refuses, and that is paused": {observed.CallResult{Err: "wrong password", Denied: true}, observed.Brakes{Paused: true}},
		"it answers for a wrong machine": {observed.CallResult{Err: "another machine", Wrong: true}, observed.Brakes{}},
		"a storm holds it besides":       {observed.CallResult{Err: "unreachable"}, observed.Brakes{Storm: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(specs.Fabric(), api.Isolating)
			f.Status.Isolation[0].SwitchedByUs = true
			f.Status.Decision.Settings.Power.Attempts, f.Status.Decision.Settings.Mode = 3, api.ModeDryRun
			moves, reads, taint, end := 0, 0, true, now.Add(20*time.Minute)
			for i := 0; now.Before(end) && moves < 1000; i++ {
				if n := f.Status.NextLook; n != nil && n.After(now) {
					now = n.Time
				}
				now = now.Add(20 * time.Millisecond)
				seen := fencetest.Look(f, now, "Unknown", false, "a")
				seen.Me, seen.Node.Taint, seen.Node.Cordoned, seen.Resolved = fmt.Sprint(i), taint, taint, true
				b := &seen.Brakes
				b.Stricter, b.Unmark, b.Why, b.Paused, b.Stopped, b.Storm = true, true, api.DryRun, c.brakes.Paused, c.brakes.Stopped, c.brakes.Storm
				was := f.Status.Phase
				st, act := fence.Decide(f, seen, now)
				f.Status = st
				taint = act == fence.Isolate || taint && act != fence.Undo
				if act.Device() {
					reads++
					call := c.call
					call.Call, call.At, seen.Call = api.Call(act), now, &call
					f.Status, _ = fence.Decide(f, seen, now)
				}
				if f.Status.Phase != was {
					moves++
				}
			}
			if moves > 40 || reads > 20 || reads < 4 {
				t.Errorf("%d changes of phase and %d calls in 20 minutes; %s %s: %s", moves, reads, f.Status.Phase, f.Status.Reason, f.Status.Message)
			}
		})
	}
}

// TestALostCallIsNotWhyAFenceIsSentBack: what holds it stays its reason (S28).
func TestALostCallIsNotWhyAFenceIsSentBack(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Phase, f.Status.Outcome, f.Status.Reason, f.Status.Message = api.Recovering, api.SentBack, api.Excluded, "by a label"
		f.Status.Claim = &api.Claim{Holder: "another", Device: "power-1", Call: api.CallRead, At: observed.StampOf(fencetest.Start), NotAfter: observed.StampOf(fencetest.Start)}
		s.Node.Taint = false
	})
	st, _ := fence.Decide(f, s, now)
	if st.Phase != api.Pending || st.Reason != api.Excluded || st.Message != "by a label" || st.Claim != nil {
		t.Errorf("%s %s: %s", st.Phase, st.Reason, st.Message)
	}
}
