package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAHeldFurtherOffLeavesRoom: its machine reads on and is healthy, another of its set
// is lost, and a budget lets one of them be unavailable. Each would hold the other for ever,
// if the one that can't send its further Off kept its slot (S14).
func TestAHeldFurtherOffLeavesRoom(t *testing.T) {
	ps := []api.FencePolicy{fencetest.LivePolicy()}
	f := underPolicy(ps, true)
	f.Status.Decision.Trigger, f.Status.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me", Type: "t"}}
	f.Status.CutOrReleased = true
	at := observed.StampOf(fencetest.Start)
	_, c, l := fencetest.World(fencetest.Start)
	c.Nodes[0].Unhealthy, c.Nodes[1].Unhealthy = false, true
	l.Status.Reservations = []api.Reservation{{NodeName: "n0", FenceUID: "fence-1", FenceNumber: 1, At: at}}
	other := fencetest.Running("n1", "f1", api.Pending)
	other.Status.Decision.ResolvedPolicy = f.Status.Decision.ResolvedPolicy
	fencetest.Budget(&c, api.FenceBudgetSpec{MaxUnavailable: fencetest.Number(1)})
	c.Fences = []api.NodeFence{*f, other}
	if v := admission.Admit(&other, c, l.DeepCopy(), fencetest.Start); v == nil || v.Reason != api.BudgetExhausted {
		t.Fatalf("the other one has room before: %+v", v)
	}
	seen := lookBeforeOff(f, ps, c, l)
	st, act := fence.Decide(f, seen, fencetest.Start)
	if got := []any{act, st.Phase, st.Reason, st.Power.SwitchedByUs}; !cmp.Equal(got, []any{fence.None, api.Pending, api.BudgetExhausted, false}) {
		t.Fatalf("held: %v, %s", got, st.Message)
	}
	f.Status = st
	c.Fences[0] = *f
	if v := admission.Admit(&other, c, l.DeepCopy(), fencetest.Start); v != nil {
		t.Errorf("the other one is held: %s: %s", v.Reason, v.Message)
	}
}

// TestAHeldFurtherOffThatMayBeLate: what was sent before is waited for first (S8), by each
// device that it was sent to.
func TestAHeldFurtherOffThatMayBeLate(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	type end struct {
		Phase        api.Phase
		Level        int32
		SwitchedByUs bool
		Reason       api.Reason
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   end
	}{
		"nothing may be late": {func(*api.NodeFence, *observed.Look) {}, end{api.Pending, 0, false, api.TooManyUnhealthy}},
		"the policies are paused": {func(_ *api.NodeFence, s *observed.Look) {
			s.Brakes = observed.Brakes{Looked: true, Counted: true, Paused: true}
		},
			end{api.Pending, 0, false, api.Paused}},
		"it is still to come": {func(f *api.NodeFence, _ *observed.Look) {
			late := observed.StampOf(now.Add(time.Second))
			f.Status.Power.EffectUntil = &late
		}, end{api.Fencing, 0, true, api.TooManyUnhealthy}},
		"nobody has looked at the brakes": {func(_ *api.NodeFence, s *observed.Look) { s.Brakes = observed.Brakes{} }, end{api.Fencing, 0, true, api.Stopped}},
		"another device was told it too": {func(f *api.NodeFence, _ *observed.Look) {
			fencetest.Powered(&f.Status.Decision, specs.Levels().Decision.Devices...)
			f.Status.Power.Level, f.Status.Power.Cut = 1, []int32{0, 1}
		}, end{api.Fencing, 0, true, api.WaitingForDevice}},
		"another device was told it too, and people have paused": {func(f *api.NodeFence, s *observed.Look) {
			fencetest.Powered(&f.Status.Decision, specs.Levels().Decision.Devices...)
			f.Status.Power.Level, f.Status.Power.Cut = 1, []int32{0, 1}
			s.Brakes = observed.Brakes{Looked: true, Counted: true, Paused: true}
		}, end{api.Fencing, 1, true, api.Paused}},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				at := observed.StampOf(now)
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, LastRead: &api.Read{State: api.PoweredOn, At: at}}, Cuts: 1, CutAt: &at, Cut: []int32{0}}
				s.Brakes.Storm = true
				c.change(f, s)
			})
			st, act := fence.Decide(f, s, now)
			if d := cmp.Diff(c.want, end{st.Phase, st.Power.Level, st.Power.SwitchedByUs, st.Reason}); d != "" || act != fence.None {
				t.Errorf("%s%s (%s)", d, act, st.Message)
			}
			if counted := st.Reason == api.WaitingForDevice; counted && (&api.NodeFence{Spec: f.Spec, Status: st}).HoldsSlot() {
				t.Error("it holds the slot that another one of its set waits for (S14)")
			}
		})
	}
}

// TestAHeldFurtherOffForgetsNoRefusal: a switch that has refused the account three times is
// left alone in the next pass too; only a person may have mended the Secret.
func TestAHeldFurtherOffForgetsNoRefusal(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now)
		f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, LastRead: &api.Read{State: api.PoweredOn, At: at}}, Cuts: 1, CutAt: &at, Cut: []int32{0}, Denied: []api.Denied{{Device: "fabric s1", Count: facts.DeniedTries, At: at}}}
		s.Brakes.Storm = true
	})
	if st, _ := fence.Decide(f, s, now); st.Phase != api.Pending || len(st.Power.Denied) != 1 {
		t.Errorf("%s, refusals %v", st.Phase, st.Power.Denied)
	}
}
