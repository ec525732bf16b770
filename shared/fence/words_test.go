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

// TestALeaseThatIsGoneSpeaksForLife: it moved a moment ago, and somebody has deleted it.
// A word that the machine is off is not believed for that (S3).
func TestALeaseThatIsGoneSpeaksForLife(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for still, want := range map[time.Duration]api.Phase{0: api.Fencing, 49 * time.Second: api.Fencing, 50 * time.Second: api.Releasing} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			moved := observed.StampOf(now.Add(-still))
			f.Status.Lease.StillSince, s.Lease = &moved, observed.Lease{}
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(now)}}
		})
		if st, _ := fence.Decide(f, s, now); st.Phase != want {
			t.Errorf("gone, and it moved %s ago: %s (%s)", still, st.Phase, st.Message)
		}
	}
}

// TestAnApprovalIsForOneCut: the flow starts over after it has cut power, and a person is
// asked again before it cuts once more. A pass that cut nothing leaves the approval as it was.
func TestAnApprovalIsForOneCut(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for served, want := range map[bool]api.Reason{true: api.WaitingForApproval, false: api.Admitted} {
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
			f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}
			f.Status.Phase, f.Status.CutOrReleased = api.Recovering, served
			since := observed.StampOf(now.Add(-time.Hour))
			f.Status.PhaseSince, f.Status.ReadySince = &since, nil
		})
		var told api.Reason
		for range 3 {
			if f.Status, _ = fence.Decide(f, s, now); f.Status.Phase == api.Isolating || f.Status.Reason == api.WaitingForApproval {
				told = f.Status.Reason
				break
			}
		}
		if told != want {
			t.Errorf("cut %v: %s, %s (%s)", served, f.Status.Phase, f.Status.Reason, f.Status.Message)
		}
	}
}

// TestAFenceWithoutASlotTakesNone: its Node goes, and what ran there is waited for (S14).
func TestAFenceWithoutASlotTakesNone(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for _, phase := range []api.Phase{api.Pending, api.Failed} {
		f, s := awaited(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Awaited = phase, nil
			s.Node, s.Left = observed.Node{}, &observed.Left{Attachments: 1}
		})
		st, _ := fence.Decide(f, s, now)
		if g := (&api.NodeFence{Spec: f.Spec, Status: st}); st.Phase != api.Releasing || g.HoldsSlot() {
			t.Errorf("from %s: %s, holds a slot: %v", phase, st.Phase, g.HoldsSlot())
		}
	}
}
