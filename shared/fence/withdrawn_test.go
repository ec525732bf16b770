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

// TestNoFurtherOffForWhoHasWithdrawn: our first Off did nothing, and who asked for the fence has
// withdrawn that since (S17, S25). Its node is not healthy.
func TestNoFurtherOffForWhoHasWithdrawn(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	joins := func(served bool) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.AskedBy = append(f.Status.Decision.AskedBy, api.AskedBy{ID: "2", Source: "/me", Served: served})
		}
	}
	sick := func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "Unknown" }
	later := func(f *api.NodeFence, s *observed.Look) {
		sick(f, s)
		f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown", Duration: metav1.Duration{Duration: 2 * time.Hour}}}
	}
	levels := func(f *api.NodeFence, _ *observed.Look) {
		fencetest.Powered(&f.Status.Decision, specs.Levels().Decision.Devices...)
		f.Status.Power.Level, f.Status.Power.Cut = 1, []int32{0, 1}
	}
	type end struct {
		Phase        api.Phase
		Reason       api.Reason
		Act          fence.Action
		SwitchedByUs bool
		Level        int32
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   end
	}{
		"no condition holds":                  {func(*api.NodeFence, *observed.Look) {}, end{api.Pending, api.RequestWithdrawn, fence.None, false, 0}},
		"one holds":                           {sick, end{api.Fencing, api.PowerOffSent, fence.Off, true, 0}},
		"one holds, and its time is not over": {later, end{api.Pending, api.RequestWithdrawn, fence.None, false, 0}},
		"another one asks":                    {joins(false), end{api.Fencing, api.PowerOffSent, fence.Off, true, 0}},
		"another one asked once it was begun": {joins(true), end{api.Fencing, api.PowerOffSent, fence.Off, true, 0}},
		"that one has withdrawn it too": {func(f *api.NodeFence, s *observed.Look) {
			joins(true)(f, s)
			f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: "1,2"}
		}, end{api.Pending, api.RequestWithdrawn, fence.None, false, 0}},
		"another device was told it, and one is not due yet": {func(f *api.NodeFence, s *observed.Look) { levels(f, s); later(f, s) }, end{api.Fencing, api.RequestWithdrawn, fence.None, true, 1}},
		"our Off may still take effect": {func(f *api.NodeFence, _ *observed.Look) {
			late := observed.StampOf(now.Add(time.Second))
			f.Status.Power.EffectUntil = &late
		}, end{api.Fencing, api.RequestWithdrawn, fence.None, true, 0}},
		"nobody has looked at the brakes": {func(_ *api.NodeFence, s *observed.Look) { s.Brakes = observed.Brakes{} }, end{api.Fencing, api.Stopped, fence.None, true, 0}},
		"the policies are paused":         {func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }, end{api.Pending, api.Paused, fence.None, false, 0}},
		"another device was told it too":  {levels, end{api.Fencing, api.WaitingForDevice, fence.None, true, 0}},
		"a person aborts it": {func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.Abort = &api.AbortRequest{By: "ann"}
		}, end{api.PoweringOn, api.Aborted, fence.None, true, 0}},
		"its Off was seen": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Power.LastRead = nil
			f.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, NotAfter: observed.StampOf(now.Add(time.Second))}
			s.Call = &observed.CallResult{Call: api.CallRead, Power: "Off", At: now}
		}, end{api.Fencing, api.MachineReadOff, fence.None, true, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				at := observed.StampOf(now.Add(-time.Minute))
				f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: "0,1"}
				f.Status.Decision.Trigger, f.Status.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/fencerequests/own/n"}}
				f.Status.CutOrReleased, f.Status.PhaseSince = true, &at
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &at, LastRead: &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}}, Cuts: 1, OffCalls: 1, CutAt: &at, Cut: []int32{0}}
				s.Node.Conditions[0].Status = "False"
				c.change(f, s)
			})
			asked := len(f.Status.Decision.AskedBy)
			st, act := fence.Decide(f, s, now)
			if d := cmp.Diff(c.want, end{st.Phase, st.Reason, act, st.Power.SwitchedByUs, st.Power.Level}); d != "" {
				t.Errorf("%s (%s)", d, st.Message)
			}
			if len(st.Decision.AskedBy) != asked {
				t.Error("only the gate may write who has asked")
			}
			if st.Phase != api.Pending || st.Reason != api.RequestWithdrawn {
				return
			}
			f.Status, s.Reserved = st, nil
			want := api.Recovering
			if len(st.Evidence) > 0 {
				want = api.Pending // as any fence of a condition whose time is not over
			}
			if st, act = fence.Decide(f, s, now.Add(time.Second)); st.Phase != want || act != fence.None {
				t.Errorf("and then: %s %s (%s), %s", st.Phase, st.Reason, st.Message, act)
			}
		})
	}
}
