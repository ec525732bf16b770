package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestACutDeviceIsAwaited: storage that we cut, and whose device is dead since, is read for
// as long as it takes, without a slot, and never cut again before the gate has said yes
// anew (S14, S25). A brake, the node's health and a person end that as before any Off.
func TestACutDeviceIsAwaited(t *testing.T) {
	type end struct {
		Phase   api.Phase
		Reason  api.Reason
		Act     fence.Action
		Awaited bool
	}
	waits := end{api.Isolating, api.WaitingForDevice, fence.None, true}
	begun := func(f *api.NodeFence) {
		at := f.Status.OpenedAt
		f.Status.Release = api.ReleaseRecord{StartedAt: at, By: api.ProofStorageCut, BootID: "a"}
	}
	read := func(power string) *observed.CallResult { return &observed.CallResult{Call: api.CallRead, Power: power} }
	dead := &observed.CallResult{Call: api.CallRead, Err: "unreachable"}
	for name, c := range map[string]struct {
		spec   fencetest.Given
		call   *observed.CallResult
		change func(*api.NodeFence, *observed.Look)
		want   end
	}{
		"it is dead once more":                 {spec: specs.Fabric(), call: dead, want: waits},
		"nothing is due yet, and the yes old":  {spec: specs.Fabric(), want: waits, change: func(f *api.NodeFence, _ *observed.Look) { f.Status.DecidedAt = nil }},
		"it reads cut: the power is looked at": {spec: specs.Fabric(), call: read("Off"), want: end{api.Fencing, api.Isolated, fence.None, true}},
		"it reads cut, which is the proof, under a slot": {spec: specs.Cut(), call: read("Off"), want: end{api.Pending, api.SeenCutOff, fence.None, false},
			change: func(f *api.NodeFence, s *observed.Look) {
				f.Status.Isolation[0].FirstCut = &api.Read{State: api.PoweredOff, At: observed.StampOf(s.Call.At.Add(-2 * time.Second))}
			}},
		"it reads as there: back to the gate": {spec: specs.Fabric(), call: read("On"), want: end{api.Isolating, api.WaitingForDevice, fence.None, true}},
		"it has read as there": {spec: specs.Fabric(), want: end{api.Pending, api.MachineReadOn, fence.None, false}, change: func(f *api.NodeFence, _ *observed.Look) {
			r := &f.Status.Isolation[0]
			r.LastRead, r.OffAt, r.NotBefore = &api.Read{State: api.PoweredOn, At: *f.Status.PhaseSince}, nil, nil
		}},
		"everything is paused": {spec: specs.Fabric(), want: end{api.Pending, api.Paused, fence.None, false}, change: func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }},
		"the node is healthy": {spec: specs.Fabric(), want: end{api.Restoring, api.HealedBeforeFence, fence.None, false}, change: func(_ *api.NodeFence, s *observed.Look) {
			s.Node.Conditions[0].Status = "True"
		}},
		"a person ends it": {spec: specs.Fabric(), want: end{api.Restoring, api.Aborted, fence.None, false}, change: func(_ *api.NodeFence, s *observed.Look) { s.Deleting = true }},
		"a person retries": {spec: specs.Fabric(), want: end{api.Pending, api.RetryAsked, fence.None, false}, change: func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}
		}},
		"a person says that it is off": {spec: specs.Fabric(), want: end{api.Fencing, api.Isolated, fence.None, true}, change: func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}}
		}},
		"its release is begun":                           {spec: specs.Cut(), call: dead, want: waits, change: func(f *api.NodeFence, _ *observed.Look) { begun(f) }},
		"its release is begun, and a person ends it":     {spec: specs.Cut(), want: end{api.Restoring, api.Aborted, fence.None, false}, change: func(f *api.NodeFence, s *observed.Look) { begun(f); s.Deleting = true }},
		"its release is begun, and everything is paused": {spec: specs.Cut(), call: dead, want: waits, change: func(f *api.NodeFence, s *observed.Look) { begun(f); s.Brakes.Paused = true }},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(c.spec, api.Isolating)
			r, soon := &f.Status.Isolation[0], observed.StampOf(now.Add(time.Minute))
			r.SwitchedByUs, r.OffAt, r.NotBefore = true, f.Status.OpenedAt, &soon
			f.Status.Awaited, f.Status.Reason = &api.AwaitedRecord{Since: *f.Status.OpenedAt, Reason: api.IsolationFailed}, api.WaitingForDevice
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			if c.call != nil {
				call := *c.call
				call.At, seen.Call = now, &call
				f.Status.Claim = &api.Claim{Holder: "me", Call: api.CallRead, At: observed.StampOf(now), NotAfter: observed.StampOf(now.Add(time.Second)), Device: f.Status.Decision.Isolation()[0].Name}
			}
			if c.change != nil {
				c.change(f, &seen)
			}
			st, act := fence.Decide(f, seen, now)
			if d := cmp.Diff(c.want, end{st.Phase, st.Reason, act, st.Awaited != nil}); d != "" {
				t.Errorf("%s (%s)", d, st.Message)
			}
			g := &api.NodeFence{Spec: f.Spec, Status: st}
			if loud := meta.IsStatusConditionFalse(st.Conditions, api.ConditionSucceeded); loud != (st.Awaited != nil && st.Phase != api.Releasing) || g.HoldsSlot() && st.Awaited != nil {
				t.Errorf("loud %v, holds a slot %v", loud, g.HoldsSlot())
			}
			if st.Phase == api.Pending && (st.Isolation[0].NotBefore != nil || st.Isolation[0].Tries != 0) {
				t.Errorf("the next slot is waited away: %+v", st.Isolation[0])
			}
		})
	}
}
