package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestALostTaintIsPlacedAgain before anything is proven of a machine that is probed first, and is
// read off (S22), whoever took the taint off.
func TestALostTaintIsPlacedAgain(t *testing.T) {
	early := func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: 10 * time.Second}}
	}
	for name, change := range map[string]func(*api.NodeFence, *observed.Look){
		"it is only read":              func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Action = api.ActionWaitForOff },
		"its Lease spoke for it first": early,
		"and a person says that it is off": func(f *api.NodeFence, s *observed.Look) {
			early(f, s)
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}}
		},
	} {
		now := fencetest.Start.Add(time.Hour)
		f, s := under(now, change)
		s.Node.Taint = false
		for range 12 {
			var act fence.Action
			f.Status, act = fence.Decide(f, s, now)
			s.Call = nil
			now = now.Add(2 * time.Second)
			switch act {
			case fence.Read:
				s.Call = &observed.CallResult{Call: api.CallRead, Power: "Off", At: now}
			case fence.Isolate:
				s.Node.Taint = true
			case fence.Off:
				t.Errorf("%s: a machine that reads off is cut", name)
			}
			if f.Status.Phase == api.Releasing {
				break
			}
		}
		if f.Status.Phase != api.Releasing || !s.Node.Taint {
			t.Errorf("%s: %s %s, taint %t: %s", name, f.Status.Phase, f.Status.Reason, s.Node.Taint, f.Status.Message)
		}
	}
}

// TestATaintThatIsLostInTheReleaseIsPlacedAgain: the isolation taint stays until the release is over (S22). It is
// placed again before anything more is released, also while pods are waited for, and not once the deadline has passed
// (S27) or the release is done.
func TestATaintThatIsLostInTheReleaseIsPlacedAgain(t *testing.T) {
	left := func(_ *api.NodeFence, s *observed.Look) { s.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}} }
	held := func(_ *api.NodeFence, s *observed.Look) { s.Left = &observed.Left{Terminating: 1} }
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   fence.Action
	}{
		"pods are to be released": {left, fence.Isolate},
		"pods are waited for":     {held, fence.Isolate},
		"the taint is there":      {func(f *api.NodeFence, s *observed.Look) { left(f, s); s.Node.Taint = true }, fence.Release},
		"the deadline has passed": {func(f *api.NodeFence, s *observed.Look) {
			left(f, s)
			f.Status.Release.Deadline = f.Status.Release.StartedAt
		}, fence.None},
		"nothing is left":             {func(_ *api.NodeFence, s *observed.Look) { s.Left = &observed.Left{} }, fence.None},
		"the node was never isolated": {func(f *api.NodeFence, s *observed.Look) { left(f, s); f.Status.Placed.Taint = false }, fence.Release},
	} {
		t.Run(name, func(t *testing.T) {
			now := fencetest.Start.Add(time.Hour)
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				at := observed.StampOf(now.Add(-time.Minute))
				f.Status.Phase, f.Status.Release, f.Status.Power.SwitchedByUs = api.Releasing, begunAt(now.Add(-time.Minute), false), true
				f.Status.Power.CutAt = &at
				f.Status.Decision.Settings.Release.Strategy = api.ReleaseResourceDeletion
				f.Status.Proof = &api.Proof{Type: api.ProofConfirmed, By: "ann", FenceUID: f.UID, FenceNumber: 1, NodeUID: f.Status.Decision.NodeUID, BootIDBefore: "a", At: observed.StampOf(now)}
				s.Node.Taint = false
			})
			c.change(f, &s)
			if st, act := fence.Decide(f, s, now); act != c.want {
				t.Errorf("%s %s, %q: %s", st.Phase, st.Reason, act, st.Message)
			}
		})
	}
}

// TestAReleaseThatAPersonEnds is not told as one that timed out with nothing left, and one that
// was done stays done.
func TestAReleaseThatAPersonEnds(t *testing.T) {
	for done, want := range map[bool]metav1.ConditionStatus{false: metav1.ConditionFalse, true: metav1.ConditionTrue} {
		now := fencetest.Start.Add(time.Hour)
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			at := observed.StampOf(now.Add(-time.Minute))
			f.Status.Phase, f.Status.Power.SwitchedByUs = api.Releasing, true
			f.Status.Decision.Settings.Action = api.ActionOff
			f.Status.Proof = &api.Proof{Type: api.ProofConfirmed, By: "ann", At: at, NodeUID: f.Status.Decision.NodeUID, BootIDBefore: "a"}
			s.Brakes.Why, s.Brakes.Message, s.Deleting, s.Left = api.StateWentBack, "a restore is not confirmed", true, &observed.Left{}
			if done {
				f.Status.Release = api.ReleaseRecord{StartedAt: &at, DoneAt: &at}
			}
		})
		for range 3 {
			f.Status, _ = fence.Decide(f, s, now)
			now = now.Add(time.Minute)
			for _, c := range f.Status.Conditions {
				if c.Type == api.ConditionReleased && c.Status != want {
					t.Errorf("done %t: Released is %s %s: %s", done, c.Status, c.Reason, c.Message)
				}
			}
		}
	}
}
