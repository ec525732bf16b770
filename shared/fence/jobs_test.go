package fence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/twins"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestJobsAreRecorded: those of every call, the last ones; not those of a call
// whose claim is gone.
func TestJobsAreRecorded(t *testing.T) {
	d := fence.CoreOf(&api.Decision{}, api.NodeFenceStatus{}, observed.Look{Me: "me"}, fencetest.Start)
	var want []string
	for i := range facts.MaxJobs + 3 {
		name := fmt.Sprint("call-", i)
		d.Status().Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead}
		d.NoteCall(&observed.CallResult{Call: api.CallRead, At: fencetest.Start, Jobs: []string{name}})
		want = append(want, name)
	}
	d.NoteCall(&observed.CallResult{Call: api.CallRead, At: fencetest.Start, Jobs: []string{"late"}})
	if diff := cmp.Diff(want[3:], d.Status().Jobs); diff != "" {
		t.Error(diff)
	}
}

// lateCall is an Off that came back.
type lateCall struct {
	seen observed.CallResult
	// earlier is for how long an Off before it may take effect, want for how long the
	// machine is not switched on.
	earlier, want time.Duration
}

func lateCalls() map[string]lateCall {
	own, spec := 30*time.Second, fencetest.Spec()
	limit := spec.Decision.CallLimit()
	return map[string]lateCall{
		"seen to end":                              {observed.CallResult{Late: &own}, 0, own},
		"not known to have ended":                  {observed.CallResult{}, 0, 55 * time.Second},
		"ended without having done it":             {observed.CallResult{Late: &own, Err: "its container was killed"}, 0, 55 * time.Second},
		"one before it is on its way":              {observed.CallResult{Late: &own}, 50 * time.Second, 55 * time.Second},
		"one before it is over as it is asked for": {observed.CallResult{Late: &own}, time.Nanosecond, own},
		"one before it ends within this one":       {observed.CallResult{Late: &own}, 58 * time.Second, limit + 54*time.Second + time.Microsecond},
		"one before it lasts longer than this one": {observed.CallResult{Late: &own}, 10 * time.Minute, 10*time.Minute - time.Second - time.Microsecond},
	}
}

// effectAfter is for how long after its Off came back a decider waits with an On.
func effectAfter(decide walk.Decider, c observed.CallResult, earlier time.Duration) time.Duration {
	spec, now := fencetest.Spec(), fencetest.Start
	spec.Decision.Power(0).EffectDelay.Duration = 55 * time.Second
	f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{})}
	at, decided := observed.StampOf(fencetest.Start), observed.StampOf(fencetest.Start)
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Fencing, FenceNumber: 1, MinReaderVersion: api.Schema, DecidedAt: &decided, BootIDBefore: "a", Placed: api.Placed{Taint: true},
		Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: &api.Read{State: api.PoweredOn, At: at}}},
	}
	if earlier > 0 {
		until := observed.StampOf(fencetest.Start.Add(earlier))
		f.Status.Power.EffectUntil = &until
	}
	st, back := afterOff(decide, now, f, c)
	if back.IsZero() {
		return -1
	}
	return st.Power.EffectUntil.Sub(back)
}

// accessAfter is the same of a device that cuts something off, and of giving that back.
// What was sent to the power says nothing of it: that is the other way round here.
func accessAfter(decide walk.Decider, c observed.CallResult, earlier time.Duration) time.Duration {
	spec := specs.Fabric()
	spec.Decision.Isolation()[0].EffectDelay.Duration = 55 * time.Second
	f, now := isolatedFence(spec, api.Isolating)
	f.Status.Isolation[0].LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}
	until := observed.StampOf(now.Add(50 * time.Second))
	if earlier > 0 {
		of := observed.StampOf(now.Add(earlier))
		f.Status.Isolation[0].EffectUntil, f.Status.Power.EffectUntil = &of, nil
	} else {
		f.Status.Power.EffectUntil = &until
	}
	st, back := afterOff(decide, now, f, c)
	if back.IsZero() {
		return -1
	}
	if power := st.Power.EffectUntil; earlier == 0 && (power == nil || !power.Equal(&until)) {
		return -1
	}
	return st.Isolation[0].EffectUntil.Sub(back)
}

// afterOff is the record after an Off that a decider sends came back so, and when it did.
func afterOff(decide walk.Decider, now time.Time, f *api.NodeFence, c observed.CallResult) (api.NodeFenceStatus, time.Time) {
	asked := now.Add(time.Microsecond)
	st, act := decide(f, fencetest.Look(f, asked, "Unknown", false, "a"), asked)
	if act != fence.Off {
		return st, time.Time{}
	}
	f.Status = st
	back := asked.Add(time.Second)
	seen := fencetest.Look(f, back, "Unknown", false, "a")
	c.Call, c.At = api.CallOff, asked
	seen.Me, seen.Call = st.Claim.Holder, &c
	st, _ = decide(f, seen, back)
	return st, back
}

// devicesOfLateCalls are what an Off is sent to.
var devicesOfLateCalls = map[string]func(walk.Decider, observed.CallResult, time.Duration) time.Duration{
	"power": effectAfter, "isolation": accessAfter,
}

// TestAnOnWaitsForWhatWasNotSeenToEnd and for no more (S8, S10).
func TestAnOnWaitsForWhatWasNotSeenToEnd(t *testing.T) {
	for name, tc := range lateCalls() {
		for device, after := range devicesOfLateCalls {
			if got := after(fence.Decide, tc.seen, tc.earlier); got != tc.want {
				t.Errorf("%s, %s: it waits %s, want %s", device, name, got, tc.want)
			}
		}
	}
}

// TestEveryDecideThatSwitchesOnTooSoonIsCaught by the same rows.
func TestEveryDecideThatSwitchesOnTooSoonIsCaught(t *testing.T) {
	own := 30 * time.Second
	for name, twin := range map[string]walk.Decider{
		"takes every call for one that was seen to end": twins.Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
			if s.Call != nil {
				s.Call.Late = &own
			}
		}),
		"believes a pod that ended without a word": twins.Before(func(_ *api.NodeFence, s *observed.Look, _ time.Time) {
			if s.Call != nil && s.Call.Late != nil {
				s.Call.Err = ""
			}
		}),
		"forgets what is on its way": twins.Before(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
			if f.Status.Claim != nil {
				f.Status.Claim.NoEarlierEffect = true
			}
		}),
		"forgets what lasts longer than this call may": twins.Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
			if f.Status.Claim == nil || s.Call == nil {
				return
			}
			own := observed.StampOf(f.Status.Claim.NotAfter.Add(55 * time.Second))
			shorten := func(r *api.DeviceRecord) {
				if r.EffectUntil != nil && r.EffectUntil.After(own.Time) {
					r.EffectUntil = &own
				}
			}
			shorten(&f.Status.Power.DeviceRecord)
			for i := range f.Status.Isolation {
				shorten(&f.Status.Isolation[i].DeviceRecord)
			}
		}),
		"does not look for what is on its way": twins.Before(func(f *api.NodeFence, s *observed.Look, _ time.Time) {
			if s.Call == nil {
				f.Status.Power.EffectUntil = nil
				for i := range f.Status.Isolation {
					f.Status.Isolation[i].EffectUntil = nil
				}
			}
		}),
	} {
		for device, after := range devicesOfLateCalls {
			caught := false
			for _, tc := range lateCalls() {
				caught = caught || after(twin, tc.seen, tc.earlier) < tc.want
			}
			if !caught {
				t.Errorf("%s, %s: it survived", device, name)
			}
		}
	}
}
