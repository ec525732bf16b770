package fence_test

import (
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAClaimOfADeviceThatIsGone: what comes of it counts for nothing, for no other device,
// and what it may still do is waited for (S7, S8).
func TestAClaimOfADeviceThatIsGone(t *testing.T) {
	for name, device := range map[string]string{"of the power": "power-3", "of the isolation": "storage-9"} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(specs.Fabric(), api.Isolating)
			at, late := observed.StampOf(now), observed.StampOf(now.Add(10*time.Minute))
			f.Status.Claim = &api.Claim{Holder: "me", Device: device, Call: api.CallOff, At: at, NotAfter: at}
			f.Status.Power.EffectUntil = &late
			if device == "storage-9" {
				f.Status.Power.EffectUntil = nil
				f.Status.Isolation = append(f.Status.Isolation, api.IsolationRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &late}, Device: device})
			}
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			if seen.Me = "another"; !fence.CoreOf(&f.Status.Decision, f.Status, seen, late.Add(-time.Second)).Elsewhere() {
				t.Error("its call is taken over while it may take effect")
			}
			seen.Me, seen.Call = "me", &observed.CallResult{Call: api.CallOff, Power: "Off", At: now, Err: "no"}
			st, _ := fence.Decide(f, seen, now)
			if st.Claim != nil && st.Claim.Device == device || st.Power.LastError+st.Isolation[0].LastError != "" || len(st.Power.Denied) > 0 {
				t.Errorf("it counts: %+v %+v", st.Claim, st.Isolation)
			}
			if until := fence.CoreOf(nil, st, observed.Look{}, now).EffectUntil(device); until == nil || !until.Equal(&late) {
				t.Errorf("it may take effect until %v", until)
			}
		})
	}
}

// TestARecordWhoseDeviceIsGone goes with it; what we cut by it holds the fence, by name,
// until a person ends it (S25, S27).
func TestARecordWhoseDeviceIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		ours, abort, deleting bool
		want                  api.Phase
		left                  int
	}{
		"it cut nothing":                  {false, false, false, api.Recovering, 1},
		"we cut by it":                    {true, false, false, api.Restoring, 2},
		"we cut by it, and it is aborted": {true, true, false, api.Recovering, 2},
		"we cut by it, and it is deleted": {true, false, true, api.Recovering, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(specs.Fabric(), api.Restoring)
			f.Status.Isolation = append([]api.IsolationRecord{{DeviceRecord: api.DeviceRecord{SwitchedByUs: c.ours}, Device: "storage-1", Driver: "san", Address: "7"}}, f.Status.Isolation...)
			f.Status.Restore = &api.RestoreRecord{Then: api.Recovering, Reason: api.NodeHealthy}
			if c.abort {
				f.Spec.Requests.Abort = &api.AbortRequest{By: "kim"}
			}
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			seen.Deleting = c.deleting
			st, act := fence.Decide(f, seen, now)
			if st.Phase != c.want || act.Device() {
				t.Errorf("%s, %s: %s", st.Phase, act, st.Message)
			}
			if st.Phase == api.Restoring && (st.Reason != api.WaitingForReboot || !strings.Contains(st.Message, "storage-1 (san 7)")) {
				t.Errorf("%s: %s", st.Reason, st.Message)
			}
			d := fence.CoreOf(&st.Decision, st, observed.Look{}, now)
			d.IsolationRecords()
			if len(d.Status().Isolation) != c.left || d.Status().Isolation[0].Device != "network-1" {
				t.Errorf("%+v", d.Status().Isolation)
			}
		})
	}
}
