package fence_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestALeaseThatIsGoneSpeaksForLife: it moved a moment ago, and somebody has deleted it.
// A word that the machine is off is not believed for that (S3).
func TestALeaseThatIsGoneSpeaksForLife(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for still, want := range map[time.Duration]api.Phase{0: api.Pending, 49 * time.Second: api.Pending, 50 * time.Second: api.Releasing} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			moved := observed.StampOf(now.Add(-still))
			f.Status.Lease.StillSince, s.Lease = &moved, observed.Lease{}
			confirms(f, now)
			silentTwice(f, now)
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

// TestWhatBecomesOfAnApproval: its answer says where it counts, and that of the approval by which a fence
// has begun stands.
func TestWhatBecomesOfAnApproval(t *testing.T) {
	now, at := fencetest.Start.Add(time.Hour), metav1.NewTime(fencetest.Start)
	const gate, begun = "it counts for this pass", "the approval counts only where the fence waits for one"
	type answer struct {
		result api.AnswerResult
		says   string
	}
	for name, c := range map[string]struct {
		phase      api.Phase
		cut, heard bool
		want       answer
	}{
		"at the gate":                {api.Pending, false, false, answer{api.Accepted, gate}},
		"late":                       {api.Fencing, false, false, answer{api.Accepted, begun}},
		"late, after the cut":        {api.Recovering, true, false, answer{api.Accepted, begun}},
		"it has begun by it":         {api.Fencing, false, true, answer{api.Accepted, gate}},
		"given up":                   {api.Failed, false, false, answer{api.Accepted, "it counts once the fence is retried"}},
		"given up, begun by it":      {api.Failed, false, true, answer{api.Accepted, "it counts once the fence is retried"}},
		"given up after the cut":     {api.Failed, true, false, answer{api.NotNeeded, "retry it, and approve it then"}},
		"given up after its own cut": {api.Failed, true, true, answer{api.Accepted, gate}},
	} {
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
			f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann", At: at}
			f.Status.Phase, f.Status.CutOrReleased = c.phase, c.cut
			if c.heard {
				f.Status.Answers = []api.RequestAnswer{{Request: api.AskedApprove, FenceNumber: 1, By: "ann", At: at, Result: api.Accepted, Message: gate}}
			}
		})
		st, _ := fence.Decide(f, s, now)
		if a := st.Answer(api.AskedApprove); a == nil || a.Result != c.want.result || !strings.Contains(a.Message, c.want.says) {
			t.Errorf("%s: %+v; %s, %s", name, a, st.Phase, st.Message)
		}
	}
}

// TestNoMachineWithoutANodeIsConfirmedOff: nothing waits for such a word, which is answered all the same (S28).
func TestNoMachineWithoutANodeIsConfirmedOff(t *testing.T) {
	spec, opened, now := specs.Bare(), observed.StampOf(fencetest.Start), fencetest.Start.Add(time.Minute)
	for _, phase := range []api.Phase{api.Pending, api.Fencing, api.Recovering} {
		f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{FenceNumber: 1, MinReaderVersion: api.Schema, Phase: phase, OpenedAt: &opened, PhaseSince: &opened})}
		f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		seen.Node = observed.Node{}
		st, _ := fence.Decide(f, seen, now)
		if a := st.Answer(api.AskedConfirmOff); a == nil || a.Result != api.NotNeeded || st.Proof != nil {
			t.Errorf("%s: %+v; %s, %s", phase, a, st.Phase, st.Message)
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
