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
	"github.com/nodefence/nodefence/shared/policy"
)

// TestWindowHoldsWhatWasNotBegun: before the first Off a fence goes back to the gate,
// with its marks; from then on a window changes nothing, not even a further Off (S25).
func TestWindowHoldsWhatWasNotBegun(t *testing.T) {
	now := fencetest.Start.Add(30 * time.Minute)
	at := func(ago time.Duration) *api.Time { m := metav1.NewMicroTime(now.Add(-ago)); return &m }
	on := &api.Read{State: api.PoweredOn, At: *at(time.Second)}
	for name, c := range map[string]struct {
		phase  api.Phase
		change func(*api.NodeFenceStatus)
		held   bool
	}{
		"at the gate":                  {phase: api.Pending, held: true},
		"isolating":                    {phase: api.Isolating, held: true},
		"before the first Off":         {phase: api.Fencing, change: func(st *api.NodeFenceStatus) { st.Power.LastRead = on }, held: true},
		"a machine that was found off": {phase: api.Releasing, held: true},
		"a further Off": {phase: api.Fencing, change: func(st *api.NodeFenceStatus) {
			st.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, LastRead: on}, Cuts: 1}
		}},
		"a machine that we cut":  {phase: api.Releasing, change: func(st *api.NodeFenceStatus) { st.Power.SwitchedByUs = true }},
		"release has begun":      {phase: api.Releasing, change: func(st *api.NodeFenceStatus) { st.Release.StartedAt = at(time.Second) }},
		"its power-on":           {phase: api.PoweringOn, change: func(st *api.NodeFenceStatus) { st.Power.SwitchedByUs = true }},
		"a healed node's return": {phase: api.Recovering},
		"a fence that stays":     {phase: api.Fenced},
		"given up":               {phase: api.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
			f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
				Phase: c.phase, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: at(time.Minute), PhaseSince: at(30 * time.Second),
				DecidedAt: at(30 * time.Second), BootIDBefore: "a", Placed: api.Placed{Taint: c.phase != api.Pending},
			}
			if c.change != nil {
				c.change(&f.Status)
			}
			decide := func(w []policy.Windows) (api.NodeFenceStatus, fence.Action) {
				x := fencetest.Look(f, now, "Unknown", false, "a")
				x.Brakes.Windows = w
				return fence.Decide(f, x, now)
			}
			without, do := decide(nil)
			with, does := decide(fencetest.OpenNow)
			if !c.held {
				if d := cmp.Diff(without, with); d != "" || do != does {
					t.Errorf("%s, %s: %s", do, does, d)
				}
				return
			}
			if with.Phase != api.Pending || with.Reason != api.PauseWindow || does != fence.None || with.Placed != f.Status.Placed {
				t.Errorf("%s %s %s %+v", with.Phase, with.Reason, does, with.Placed)
			}
			if without.Reason == api.PauseWindow {
				t.Error("held without a window")
			}
		})
	}
}

// TestAfterTheWindow: it is looked at again when the window ends, and decided anew.
func TestAfterTheWindow(t *testing.T) {
	f := &api.NodeFence{Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	decide := func(at time.Time) fence.Action {
		x := fencetest.Look(f, at, "Unknown", false, "a")
		x.Brakes.Windows, x.Reserved = fencetest.OpenNow, nil
		var act fence.Action
		f.Status, act = fence.Decide(f, x, at)
		return act
	}
	end := fencetest.Start.Add(time.Hour)
	for _, c := range []struct{ at, again time.Time }{
		{fencetest.Start, fencetest.Start.Add(facts.Resync)}, {end.Add(-facts.Resync), end}, {end.Add(-10 * time.Second), end},
	} {
		if act := decide(c.at); act != fence.None || !f.Status.NextLook.Time.Equal(c.again) {
			t.Errorf("at %s: %q, again at %s, want %s", c.at, act, f.Status.NextLook, c.again)
		}
	}
	if n := len(f.Status.History); n != 2 {
		t.Errorf("the hold was told more than once: %+v", f.Status.History)
	}
	if act := decide(end); act != fence.Reserve {
		t.Errorf("after the window: %q %s", act, f.Status.Reason)
	}
}
