package fence

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestACutDeviceIsAwaited: storage that we cut, and whose device is dead since, is read for
// as long as it takes, without a slot, and never cut again before the gate has said yes
// anew (S14, S25). A brake, the node's health and a person end that as before any Off.
func TestACutDeviceIsAwaited(t *testing.T) {
	type end struct {
		Phase   api.Phase
		Reason  api.Reason
		Act     Action
		Awaited bool
	}
	waits := end{api.Isolating, api.WaitingForDevice, None, true}
	begun := func(f *api.NodeFence) {
		at := f.Status.OpenedAt
		f.Status.Release = api.ReleaseRecord{StartedAt: at, By: api.ProofStorageCut, BootID: "a"}
	}
	read := func(power string) *CallResult { return &CallResult{Call: api.CallRead, Power: power} }
	dead := &CallResult{Call: api.CallRead, Err: "unreachable"}
	for name, c := range map[string]struct {
		spec   given
		call   *CallResult
		change func(*api.NodeFence, *Seen)
		want   end
	}{
		"it is dead once more":                 {spec: fabricSpec(), call: dead, want: waits},
		"nothing is due yet, and the yes old":  {spec: fabricSpec(), want: waits, change: func(f *api.NodeFence, _ *Seen) { f.Status.DecidedAt = nil }},
		"it reads cut: the power is looked at": {spec: fabricSpec(), call: read("Off"), want: end{api.Fencing, api.Isolated, None, true}},
		"it reads cut, which is the proof, under a slot": {spec: cutSpec(), call: read("Off"), want: end{api.Pending, api.SeenCutOff, None, false},
			change: func(f *api.NodeFence, s *Seen) {
				f.Status.Isolation[0].FirstCut = &api.Read{State: api.PoweredOff, At: stampOf(s.Call.At.Add(-2 * time.Second))}
			}},
		"it reads as there: back to the gate": {spec: fabricSpec(), call: read("On"), want: end{api.Isolating, api.WaitingForDevice, None, true}},
		"it has read as there": {spec: fabricSpec(), want: end{api.Pending, api.MachineReadOn, None, false}, change: func(f *api.NodeFence, _ *Seen) {
			r := &f.Status.Isolation[0]
			r.LastRead, r.OffAt, r.NotBefore = &api.Read{State: api.PoweredOn, At: *f.Status.PhaseSince}, nil, nil
		}},
		"everything is paused": {spec: fabricSpec(), want: end{api.Pending, api.Paused, None, false}, change: func(_ *api.NodeFence, s *Seen) { s.Brakes.Paused = true }},
		"the node is healthy": {spec: fabricSpec(), want: end{api.Restoring, api.HealedBeforeFence, None, false}, change: func(_ *api.NodeFence, s *Seen) {
			s.Node.Conditions[0].Status = "True"
		}},
		"a person ends it": {spec: fabricSpec(), want: end{api.Restoring, api.Aborted, None, false}, change: func(_ *api.NodeFence, s *Seen) { s.Deleting = true }},
		"a person retries": {spec: fabricSpec(), want: end{api.Pending, api.RetryAsked, None, false}, change: func(f *api.NodeFence, _ *Seen) {
			f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(walkStart)}
		}},
		"a person says that it is off": {spec: fabricSpec(), want: end{api.Fencing, api.Isolated, None, true}, change: func(f *api.NodeFence, _ *Seen) {
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(walkStart)}}
		}},
		"its release is begun":                           {spec: cutSpec(), call: dead, want: waits, change: func(f *api.NodeFence, _ *Seen) { begun(f) }},
		"its release is begun, and a person ends it":     {spec: cutSpec(), want: end{api.Restoring, api.Aborted, None, false}, change: func(f *api.NodeFence, s *Seen) { begun(f); s.Deleting = true }},
		"its release is begun, and everything is paused": {spec: cutSpec(), call: dead, want: waits, change: func(f *api.NodeFence, s *Seen) { begun(f); s.Brakes.Paused = true }},
	} {
		t.Run(name, func(t *testing.T) {
			f, now := isolatedFence(c.spec, api.Isolating)
			r, soon := &f.Status.Isolation[0], stampOf(now.Add(time.Minute))
			r.SwitchedByUs, r.OffAt, r.NotBefore = true, f.Status.OpenedAt, &soon
			f.Status.Awaited, f.Status.Reason = &api.AwaitedRecord{Since: *f.Status.OpenedAt, Reason: api.IsolationFailed}, api.WaitingForDevice
			seen := usual(&state{spec: givenBy(f), st: f.Status, sh: shadow{renewed: "r0"}}, now, "Unknown", false, "a")
			if c.call != nil {
				call := *c.call
				call.At, seen.Call = now, &call
				f.Status.Claim = &api.Claim{Holder: "me", Call: api.CallRead, At: stampOf(now), NotAfter: stampOf(now.Add(time.Second)), Device: f.Status.Decision.Isolation()[0].Name}
			}
			if c.change != nil {
				c.change(f, &seen)
			}
			st, act := Decide(f, seen, now)
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
