package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// awaited is a fence that cut the power a minute ago and has just used up its tries.
func awaited(now time.Time, change func(*api.NodeFence, *observed.Look)) (*api.NodeFence, observed.Look) {
	return under(now, func(f *api.NodeFence, s *observed.Look) {
		cut, since := observed.StampOf(now.Add(-time.Minute)), observed.StampOf(now.Add(-time.Second))
		f.Status.DecidedAt, f.Status.CutOrReleased = nil, true
		f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &cut}, Cuts: 1, CutAt: &cut, Cut: []int32{0}}
		f.Status.Awaited = &api.AwaitedRecord{Since: since, Reason: api.DeviceFailed, Message: "device unreachable"}
		change(f, s)
	})
}

// read is an answer to a read that this invocation has just made.
func read(f *api.NodeFence, s *observed.Look, now time.Time, power string) {
	f.Status.Claim = &api.Claim{Holder: s.Me, Device: "power-1", Call: api.CallRead, At: observed.StampOf(now), NotAfter: observed.StampOf(now.Add(5 * time.Second))}
	s.Call = &observed.CallResult{Call: api.CallRead, Power: power, At: now}
	if power == "" {
		s.Call.Err = "device unreachable"
	}
}

// TestWhatWasBegunIsNeverGivenUp: whatever uses up the tries of a fence that has cut
// power, or begun a release, its device is read again and again (S25). It holds no slot
// meanwhile, and sends no Off before the gate has said yes anew.
func TestWhatWasBegunIsNeverGivenUp(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	last := func(f *api.NodeFence) {
		f.Status.Decision.Settings.Power.Attempts, f.Status.Decision.Settings.Power.Restarts = 1, 0
	}
	type end struct {
		Phase        api.Phase
		Reason       api.Reason
		Awaited      bool
		SwitchedByUs bool
	}
	goesOn := end{api.Fencing, api.WaitingForDevice, true, true}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   end
		act    fence.Action
	}{
		"the device is away after the last try": {func(f *api.NodeFence, s *observed.Look) {
			last(f)
			f.Status.Awaited = nil
			read(f, s, now, "")
		}, goesOn, fence.None},
		"it is away once more":           {func(f *api.NodeFence, s *observed.Look) { read(f, s, now, "") }, goesOn, fence.None},
		"it answers for another machine": {func(f *api.NodeFence, s *observed.Look) { read(f, s, now, ""); s.Call.Wrong = true }, goesOn, fence.None},
		"a record that was given up":     {func(f *api.NodeFence, _ *observed.Look) { f.Status.Phase, f.Status.Awaited = api.Failed, nil }, goesOn, fence.None},
		"it reads off":                   {func(f *api.NodeFence, s *observed.Look) { read(f, s, now, "Off") }, end{api.Fencing, api.MachineReadOff, true, true}, fence.None},
		"it reads on: back to the gate":  {func(f *api.NodeFence, s *observed.Look) { read(f, s, now, "On") }, end{api.Pending, api.MachineReadOn, false, false}, fence.None},
		"it reads on, and our Off may still be late": {func(f *api.NodeFence, s *observed.Look) {
			late := observed.StampOf(now.Add(time.Second))
			f.Status.Power.EffectUntil = &late
			f.Status.Reason = api.WaitingForDevice
			read(f, s, now, "On")
		}, goesOn, fence.None},
		"it reads on, and does not obey": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Awaited.Disobeyed = true
			read(f, s, now, "On")
		}, end{api.Failed, api.DeviceFailed, false, false}, fence.None},
		"its other device was told to cut the power, too": {func(f *api.NodeFence, s *observed.Look) {
			fencetest.Powered(&f.Status.Decision, specs.Levels().Decision.Devices...)
			f.Status.Power.Cut, f.Status.Power.Level = []int32{0, 1}, 1
			read(f, s, now, "On")
			f.Status.Claim.Device = "power-2"
		}, end{api.Fencing, api.MachineReadOn, true, true}, fence.None},
		"at the gate, where a brake is on": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Awaited = api.Pending, nil
			s.Brakes.Storm = true
		}, goesOn, fence.None},
		"its binding fails": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Awaited = api.Pending, nil
			f.Status.Decision.Devices, f.Status.Decision.DevicesError, s.Resolved = nil, "ConfigMap x: wrong", true
		}, end{api.Pending, api.WaitingForDevice, false, true}, fence.None},
		"its binding has failed: it is resolved again": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase, f.Status.Awaited, f.Status.Reason = api.Pending, nil, api.WaitingForDevice
			f.Status.Decision.Devices = nil
		}, end{api.Pending, api.WaitingForDevice, false, true}, fence.Resolve},
		"the node is healthy": {func(_ *api.NodeFence, s *observed.Look) {
			s.Node.Conditions[0].Status, s.Lease.Renewed = "True", "r1"
		}, end{api.Recovering, api.NodeHealthy, false, false}, fence.None},
		"a person says that it is off": {func(f *api.NodeFence, _ *observed.Look) {
			confirms(f, now)
		}, end{api.Fencing, api.ReadingDevices, true, true}, fence.Read},
		"a person says that it is off, and its device has not answered twice": {func(f *api.NodeFence, _ *observed.Look) {
			confirms(f, now)
			silentTwice(f, now)
		}, end{api.Releasing, api.ConfirmedOff, true, true}, fence.None},
		"a person ends it": {func(_ *api.NodeFence, s *observed.Look) { s.Deleting = true }, end{api.PoweringOn, api.Aborted, false, true}, fence.None},
		"a person ends it, and the out-of-service taint is on": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Release, f.Status.Placed.OutOfService, s.Deleting = begunAt(now, false), true, true
		}, end{api.Failed, api.DeviceFailed, true, true}, fence.None},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := awaited(now, c.change)
			st, act := fence.Decide(f, s, now)
			got := end{st.Phase, st.Reason, st.Awaited != nil, st.Power.SwitchedByUs}
			if d := cmp.Diff(c.want, got); d != "" || act != c.act {
				t.Errorf("%s(%s), action %q", d, st.Message, act)
			}
			loud := meta.IsStatusConditionFalse(st.Conditions, api.ConditionSucceeded)
			if g := (&api.NodeFence{Spec: f.Spec, Status: st}); loud != (c.want.Awaited && st.Phase != api.Releasing || st.Phase == api.Failed) || g.HoldsSlot() && st.Awaited != nil {
				t.Errorf("loud %v, holds a slot %v", loud, g.HoldsSlot())
			}
		})
	}
}

// TestAFenceThatWaitsForItsDeviceLeavesRoom: another one may begin (S14). It still counts
// as one that began, and its yes is no yes any more.
func TestAFenceThatWaitsForItsDeviceLeavesRoom(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := awaited(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now.Add(-10 * time.Second))
		f.Status.Decision.Settings.Power.Attempts, f.Status.Decision.Settings.Power.Restarts = 1, 0
		f.Status.Awaited, f.Status.DecidedAt = nil, &at
		read(f, s, now, "")
	})
	slot := api.Reservation{NodeName: "n", FenceUID: f.UID, FenceNumber: 1, At: *f.Status.DecidedAt}
	l := &api.FenceLedger{Status: api.FenceLedgerStatus{Reservations: []api.Reservation{slot}, Admitted: []api.Reservation{slot}}}
	f.Status, _ = fence.Decide(f, s, now)
	broughtUpToDate(l, f, now)
	if len(l.Status.Reservations) != 0 || len(l.Status.Admitted) != 1 {
		t.Errorf("%d slots and %d begun, want 0 and 1", len(l.Status.Reservations), len(l.Status.Admitted))
	}
	f.Status.Phase, l.Status.Reservations = api.Pending, []api.Reservation{slot}
	if at := admission.ReservedAt(l, f); at != nil {
		t.Errorf("the old yes of %s counts at the gate", at)
	}
}
