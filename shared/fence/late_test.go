package fence_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/fencetest/twins"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhenACallIsTakenOver: not before it can't be in flight any more by the clock of
// whoever makes it, which may be behind (S7), nor before what it did has taken effect (S8).
func TestWhenACallIsTakenOver(t *testing.T) {
	for call, want := range map[api.Call]time.Duration{api.CallRead: observed.ClockSlack, api.CallOff: observed.ClockSlack + 3*time.Second, api.CallOn: observed.ClockSlack + 3*time.Second} {
		for _, late := range []time.Duration{0, time.Second, want - 1, want} {
			now := fencetest.Start.Add(late)
			f := claimed(api.Fencing, call, fencetest.Start)
			before := *f.Status.DeepCopy()
			st, _ := fence.Decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
			taken := st.Claim == nil || st.Claim.Holder != "another"
			if taken != (late >= want) || !taken && !reflect.DeepEqual(before, st) {
				t.Errorf("%s, %s after its time: taken over %v", call, late, taken)
			}
		}
	}
}

// TestTheLongestEffectOfAllLevelsCounts: an Off of a level before may still take effect
// when the next level's call is taken over (S8). The walk does not show it: the tries of
// the level before took longer than that.
func TestTheLongestEffectOfAllLevelsCounts(t *testing.T) {
	short := twins.Always(func(f *api.NodeFence, _ *observed.Look, _ time.Time) {
		all := slices.Clone(f.Status.Decision.Devices)
		all[0].EffectDelay = all[1].EffectDelay
		f.Status.Decision.Devices = all
	})
	for name, c := range map[string]struct {
		decide walk.Decider
		late   time.Duration
		taken  bool
	}{
		"before the longest effect is over": {fence.Decide, observed.ClockSlack + 2*time.Second, false},
		"after it":                          {fence.Decide, observed.ClockSlack + 3*time.Second, true},
		"too soon, by who minds only this level's own effect": {short, observed.ClockSlack + 2*time.Second, true},
	} {
		now := fencetest.Start.Add(c.late)
		f := claimed(api.Fencing, api.CallOff, fencetest.Start)
		specs.Levels().To(f)
		f.Status.Power.Level = 1
		st, _ := c.decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
		if taken := st.Claim == nil || st.Claim.Holder != "another"; taken != c.taken {
			t.Errorf("%s: taken over %v", name, taken)
		}
	}
}

// TestALateEndCountsForNothing: whoever lost its claim has learnt what was so then, of
// the device that was asked then (S3, S7).
func TestALateEndCountsForNothing(t *testing.T) {
	now := fencetest.Start.Add(time.Minute)
	for _, phase := range []api.Phase{api.Isolating, api.Fencing, api.PoweringOn, api.Restoring} {
		for claim, change := range map[string]func(*api.NodeFence){
			"nobody has it":           func(f *api.NodeFence) { f.Status.Claim = nil },
			"its time is over":        func(*api.NodeFence) {},
			"somebody else reads now": func(f *api.NodeFence) { f.Status.Claim.NotAfter = observed.StampOf(now.Add(time.Second)) },
		} {
			decide := func(end observed.CallResult) string {
				f := claimed(phase, api.CallRead, fencetest.Start)
				fencetest.Cutting(&f.Status.Decision, api.Binding{Driver: "mem", Address: "san", Role: api.RoleStorage})
				f.Status.Isolation = []api.IsolationRecord{{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}, Device: "storage-1", Driver: "mem", Address: "san"}}
				f.Status.Restore = &api.RestoreRecord{Then: api.Recovering}
				change(f)
				seen := fencetest.Look(f, now, "Unknown", false, "a")
				seen.Me, seen.Call, seen.Node.Taint = "late", &end, true
				st, act := fence.Decide(f, seen, now)
				text, err := json.MarshalIndent(st, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%s %q", text, act)
			}
			want := decide(observed.CallResult{Call: api.CallRead, At: fencetest.Start})
			for _, end := range []observed.CallResult{{Power: "Off"}, {Power: "On"}, {Err: "another machine", Identity: "other", Wrong: true}, {Err: "stopping", Stopping: true}, {Call: api.CallOff}, {Call: api.CallOff, Err: "denied", Refused: true}} {
				if end.At = fencetest.Start; end.Call == "" {
					end.Call = api.CallRead
				}
				if d := cmp.Diff(want, decide(end)); d != "" {
					t.Errorf("%s, %s, and late comes %+v: %s", phase, claim, end, d)
				}
			}
		}
	}
}

// claimed is a fence whose device was read as on, and is spoken with by another until then.
func claimed(phase api.Phase, call api.Call, until time.Time) *api.NodeFence {
	f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	at, begun := observed.StampOf(fencetest.Start.Add(-5*time.Second)), observed.StampOf(fencetest.Start.Add(-time.Minute))
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &begun, PhaseSince: &begun, CutOrReleased: true, BootIDBefore: "a",
		Placed: api.Placed{Taint: true}, Power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &begun}, Cut: []int32{0}},
		Claim: &api.Claim{Holder: "another", Device: "power-1", Call: call, At: at, NotAfter: observed.StampOf(until)},
	}
	return f
}
