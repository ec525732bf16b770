package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
)

// TestAsksBrakes: where they are not asked for, no brake changes what is decided.
func TestAsksBrakes(t *testing.T) {
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
		"the first Off":                {phase: api.Fencing, power: api.PowerRecord{LastRead: read("On")}, want: true},
		"a machine that was found off": {phase: api.Fencing, power: api.PowerRecord{FirstOff: read("Off")}, want: true},
		"an Off is waited for":         {phase: api.Fencing, power: api.PowerRecord{SwitchedByUs: true, OffAt: at(time.Second)}},
		"it was not seen in time":      {phase: api.Fencing, power: api.PowerRecord{SwitchedByUs: true, OffAt: at(time.Hour)}},
		"its end was lost": {phase: api.Fencing, power: api.PowerRecord{SwitchedByUs: true, OffAt: at(time.Minute), LastRead: read("On")}, change: func(st *api.NodeFenceStatus) {
			st.Claim = &api.Claim{Holder: "another", Device: "power-1", Call: api.CallOff, NotAfter: *at(30 * time.Second)}
		}},
		"half a proof":       {phase: api.Fencing, power: api.PowerRecord{SwitchedByUs: true, OffAt: at(10 * time.Second), FirstOff: read("Off")}},
		"a further Off":      {phase: api.Fencing, power: api.PowerRecord{SwitchedByUs: true, LastRead: read("On")}, want: true},
		"power-on":           {phase: api.PoweringOn, power: api.PowerRecord{SwitchedByUs: true}},
		"power-on after off": {phase: api.PoweringOn, power: api.PowerRecord{SwitchedByUs: true, LastRead: read("Off")}},
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
			if got := fence.AsksBrakes(f); got != c.want {
				t.Fatalf("asks: %v", got)
			}
			if c.want {
				return
			}
			decide := func(b fence.Brakes, call *fence.CallResult) any {
				x := usual(&state{st: f.Status}, now, "Unknown", false, "a")
				x.Brakes, x.Call = b, call
				st, act := fence.Decide(f, x, now)
				return struct {
					Status api.NodeFenceStatus
					Action fence.Action
				}{st, act}
			}
			lost, ends := f.Status.Claim, []*fence.CallResult{nil}
			if lost == nil {
				ends = append(ends, &fence.CallResult{Call: api.CallRead, Power: "On", At: now}, &fence.CallResult{Call: api.CallRead, Power: "Off", At: now},
					&fence.CallResult{Call: api.CallRead, Err: "unreachable", At: now})
			}
			for _, call := range ends {
				if f.Status.Claim = lost; call != nil {
					f.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, NotAfter: *at(-time.Second)}
				}
				want := decide(fence.Brakes{}, call)
				for _, b := range []fence.Brakes{{Looked: true, Counted: true}, {Looked: true, Paused: true}, {Looked: true, Storm: true}, {Looked: true, Stopped: true}, {Looked: true, Windows: fencetest.OpenNow}} {
					if d := cmp.Diff(want, decide(b, call)); d != "" {
						t.Errorf("%+v after %+v: %s", b, call, d)
					}
				}
			}
		})
	}
}
