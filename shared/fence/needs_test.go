package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestBrakesAreNeeded: where they are not needed, no brake changes what is decided.
func TestBrakesAreNeeded(t *testing.T) {
	now := fencetest.Start.Add(time.Minute)
	at := func(ago time.Duration) *api.Time { m := metav1.NewMicroTime(now.Add(-ago)); return &m }
	read := func(power string) *api.Read { return &api.Read{State: api.StateOf(power), At: *at(time.Second)} }
	for name, c := range map[string]struct {
		phase  api.Phase
		power  api.PowerRecord
		change func(*api.NodeFenceStatus)
		want   bool
	}{
		"the first read":               {phase: api.Fencing, want: true},
		"the first Off":                {phase: api.Fencing, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: read("On")}}, want: true},
		"a machine that was found off": {phase: api.Fencing, power: api.PowerRecord{FirstOff: read("Off")}, want: true},
		"an Off is waited for":         {phase: api.Fencing, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: at(time.Second)}}},
		"it was not seen in time":      {phase: api.Fencing, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: at(time.Hour)}}},
		"its end was lost": {phase: api.Fencing, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: at(time.Minute), LastRead: read("On")}}, change: func(st *api.NodeFenceStatus) {
			st.Claim = &api.Claim{Holder: "another", Device: "power-1", Call: api.CallOff, NotAfter: *at(30 * time.Second)}
		}},
		"half a proof":       {phase: api.Fencing, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: at(10 * time.Second)}, FirstOff: read("Off")}},
		"a further Off":      {phase: api.Fencing, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, LastRead: read("On")}}, want: true},
		"power-on":           {phase: api.PoweringOn, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true}}},
		"power-on after off": {phase: api.PoweringOn, power: api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, LastRead: read("Off")}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
			f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
				Phase: c.phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: at(time.Minute), PhaseSince: at(30 * time.Second),
				DecidedAt: at(30 * time.Second), BootIDBefore: "a", Power: c.power,
			}
			if c.change != nil {
				c.change(&f.Status)
			}
			if got := fence.Needs(f, &observed.Look{}).Brakes; got != c.want {
				t.Fatalf("asks: %v", got)
			}
			if c.want {
				return
			}
			decide := func(b observed.Brakes, call *observed.CallResult) any {
				x := fencetest.Look(f, now, "Unknown", false, "a")
				x.Brakes, x.Call = b, call
				st, act := fence.Decide(f, x, now)
				return struct {
					Status api.NodeFenceStatus
					Action fence.Action
				}{st, act}
			}
			lost, ends := f.Status.Claim, []*observed.CallResult{nil}
			if lost == nil {
				ends = append(ends, &observed.CallResult{Call: api.CallRead, Power: "On", At: now}, &observed.CallResult{Call: api.CallRead, Power: "Off", At: now},
					&observed.CallResult{Call: api.CallRead, Err: "unreachable", At: now})
			}
			for _, call := range ends {
				if f.Status.Claim = lost; call != nil {
					f.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, NotAfter: *at(-time.Second)}
				}
				want := decide(observed.Brakes{}, call)
				for _, b := range []observed.Brakes{{Looked: true, Counted: true}, {Looked: true, Paused: true}, {Looked: true, Storm: true}, {Looked: true, Stopped: true}, {Looked: true, Windows: fencetest.OpenNow}} {
					if d := cmp.Diff(want, decide(b, call)); d != "" {
						t.Errorf("%+v after %+v: %s", b, call, d)
					}
				}
			}
		})
	}
}

// TestNeedsOfIsolation: what is rarely needed while access is cut, and what comes of it.
func TestNeedsOfIsolation(t *testing.T) {
	type end struct {
		Phase api.Phase
		Act   fence.Action
	}
	for name, c := range map[string]struct {
		spec     fencetest.Given
		change   func(f *api.NodeFence, seen *observed.Look, now time.Time)
		needs    func(fence.Needed) bool
		blank    func(*observed.Look)
		with, by end
	}{
		"a release was begun, and its device is awaited: the node's own health ends that": {specs.Cut(), func(f *api.NodeFence, seen *observed.Look, now time.Time) {
			f.Status.Release = api.ReleaseRecord{StartedAt: f.Status.OpenedAt, By: api.ProofStorageCut, BootID: "a"}
			f.Status.Isolation[0].SwitchedByUs = true
			f.Status.Awaited = &api.AwaitedRecord{Since: observed.StampOf(now.Add(-time.Minute))}
			seen.Node.Conditions[0].Status = "True"
			seen.Lease.Renewed = "r1"
		}, func(n fence.Needed) bool { return n.Lease }, func(seen *observed.Look) { seen.Lease = observed.Lease{} },
			end{api.Restoring, fence.None}, end{api.Isolating, fence.Read}},
		"access may be cut, and the machine dumps its memory": {specs.Fabric(), func(f *api.NodeFence, seen *observed.Look, now time.Time) {
			f.Status.Decision.Settings.Kdump = &api.KdumpSettings{QuietDuration: metav1.Duration{Duration: time.Minute}, Timeout: metav1.Duration{Duration: time.Hour}}
			f.Status.Isolation[0].LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}
			seen.Dump = &observed.Dump{NodeUID: "uid-1", BootID: "a", First: now, Last: now, Count: 1}
		}, func(n fence.Needed) bool { return n.Dump }, func(seen *observed.Look) { seen.Dump = nil },
			end{api.Pending, fence.None}, end{api.Isolating, fence.Off}},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(c.spec, api.Isolating)
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			c.change(f, &seen, now)
			if need := fence.Needs(f, &observed.Look{}); !c.needs(need) {
				t.Errorf("needs only %+v", need)
			}
			less := seen
			c.blank(&less)
			for _, look := range []struct {
				seen observed.Look
				want end
			}{{seen, c.with}, {less, c.by}} {
				st, act := fence.Decide(f, look.seen, now)
				if d := cmp.Diff(look.want, end{st.Phase, act}); d != "" {
					t.Error(d)
				}
			}
		})
	}
}
