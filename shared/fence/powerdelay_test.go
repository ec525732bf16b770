package fence_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// isolatedFor is a node under isolation.powerDelay 5m that has our taint for so long.
func isolatedFor(d time.Duration, phase api.Phase, change func(*api.NodeFence, *observed.Look)) string {
	now := fencetest.Start.Add(time.Hour)
	f, seen := under(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now.Add(-d))
		f.Status.Phase, f.Status.Placed.IsolatedAt = phase, &at
		f.Status.Decision.Settings.Isolation.PowerDelay.Duration = 5 * time.Minute
		if phase == api.Pending {
			f.Status.DecidedAt = nil
		}
		if change != nil {
			change(f, s)
		}
	})
	st, act := fence.Decide(f, seen, now)
	next := "none"
	if st.NextLook != nil {
		next = "+" + st.NextLook.Sub(now).String()
	}
	slot := ""
	if st.DecidedAt != nil {
		slot = ", yes"
	}
	if st.Reason == api.WaitingBeforePower {
		slot += fmt.Sprintf(", step %s %s", st.Views.NodeFencing.Step, st.Views.NodeFencing.Status)
	}
	return fmt.Sprintf("%s %s, %s, next %s%s", st.Phase, st.Reason, act, next, slot)
}

// TestPowerWaitsForIsolation: power is not cut before the node was isolated for isolation.powerDelay.
// The fence waits at the gate and holds no slot (S14), and a yes of before counts no more (S17).
func TestPowerWaitsForIsolation(t *testing.T) {
	const waits = "Pending WaitingBeforePower, , next +30s, step Isolation Running"
	heals := func(f *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "True" }
	reads := func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(fencetest.Start.Add(time.Hour))
		f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: at}
	}
	for name, c := range map[string]struct {
		since  time.Duration
		phase  api.Phase
		change func(*api.NodeFence, *observed.Look)
		want   string
	}{
		"just isolated":                   {0, api.Isolating, nil, waits},
		"isolated for a minute":           {time.Minute, api.Pending, nil, waits},
		"looked at when the time is over": {5*time.Minute - 10*time.Second, api.Pending, nil, "Pending WaitingBeforePower, , next +10s, step Isolation Running"},
		"long enough":                     {5 * time.Minute, api.Isolating, nil, "Fencing Isolated, , next +5s, yes"},
		"long enough, at the gate":        {5 * time.Minute, api.Pending, func(_ *api.NodeFence, s *observed.Look) { s.Reserved = nil }, "Pending , Resolve, next +10s"},
		"read on too early":               {time.Minute, api.Fencing, reads, waits},
		"read on after it":                {5 * time.Minute, api.Fencing, reads, "Fencing PowerOffSent, Off, next +10s, yes"},
		"it heals":                        {time.Minute, api.Pending, heals, "Recovering HealedBeforeFence, , next +5s"},
		"somebody takes the taint away":   {4 * time.Minute, api.Isolating, func(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = false }, "Isolating , Isolate, next +10s, yes"},
		"a person says that it is off": {time.Minute, api.Isolating, func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}}
		}, "Fencing Isolated, , next +5s, yes"},
		"power was cut before": {time.Minute, api.Fencing, func(f *api.NodeFence, s *observed.Look) {
			reads(f, s)
			f.Status.Power.SwitchedByUs, f.Status.Power.CutAt = true, f.Status.Power.LastRead.At.DeepCopy()
		}, "Fencing PowerOffSent, Off, next +10s, yes"},
		"the policy waits no more": {time.Minute, api.Pending, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Isolation.PowerDelay.Duration = 0
		}, "Isolating Admitted, , next +5s, yes"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isolatedFor(c.since, c.phase, c.change); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
