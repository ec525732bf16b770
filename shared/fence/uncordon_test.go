package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// recovered is a node whose power we cut, under a policy that keeps what it fenced
// until a person uncordons it. It has been healthy for longer than it must be.
func recovered(now time.Time, change func(*api.NodeFence, *observed.Look)) (*api.NodeFence, observed.Look) {
	ago := func(d time.Duration) *api.Time { at := observed.StampOf(now.Add(-d)); return &at }
	return under(now, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Decision.Settings.Recovery.Uncordon = api.UncordonManual
		f.Status.Phase, f.Status.PhaseSince, f.Status.ReadySince = api.Recovering, ago(time.Minute), ago(10*time.Second)
		f.Status.CutOrReleased, f.Status.Power.Cuts, f.Status.Placed.Cordon = true, 1, true
		f.Status.Lease.StillSince = ago(time.Second)
		s.Node.Conditions[0].Status = "True"
		s.Node.Cordoned, s.Node.CordonOurs = true, true
		if change != nil {
			change(f, s)
		}
	})
}

func uncordonBy(at time.Time) *api.Request {
	return &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(at)}
}

// TestAHealthyNodeWaitsForAPerson: what was fenced under recovery.uncordon: Manual stays
// isolated until a person uncordons it; what was not, and whatever ends a record, does not.
func TestAHealthyNodeWaitsForAPerson(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	const held, back = "Recovering WaitingForUncordon, , next +30s", "Recovering UncordonAsked, Undo, next +10s"
	const alone = "Recovering NodeHealthy, Undo, next +10s"
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   string
	}{
		"its power was cut":    {nil, held},
		"a person asks for it": {func(f *api.NodeFence, _ *observed.Look) { f.Spec.Requests.Uncordon = uncordonBy(now) }, back},
		"a person uncordons it with kubectl": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.KeptSince, s.Node.Cordoned = f.Status.ReadySince, false
		}, back},
		"somebody uncordoned it before it was healthy": {func(_ *api.NodeFence, s *observed.Look) { s.Node.Cordoned = false }, held},
		"somebody takes a cordon of his own away":      {func(f *api.NodeFence, s *observed.Look) { f.Status.Placed.Cordon, s.Node.Cordoned = false, false }, held},
		"the policy returns nodes by itself": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Recovery.Uncordon = api.UncordonAutomatic
		}, alone},
		"a policy from before there was this": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Recovery.Uncordon = "" }, alone},
		"a person ends it": {func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.Abort = &api.AbortRequest{By: "ann", At: metav1.NewTime(now)}
		}, alone},
		"its record is deleted": {func(_ *api.NodeFence, s *observed.Look) { s.Deleting = true }, alone},
		"everything is paused":  {func(_ *api.NodeFence, s *observed.Look) { s.Brakes = observed.Brakes{Looked: true, Paused: true} }, held},
		"only its work was released": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Power.Cuts, f.Status.Release = 0, begunAt(now, true)
		}, held},
		"nothing was done to it": {func(f *api.NodeFence, _ *observed.Look) { f.Status.CutOrReleased, f.Status.Power.Cuts = false, 0 }, alone},
		"it was isolated, and no more is to be": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.CutOrReleased, f.Status.Power.Cuts, f.Status.Decision.Settings.Action = false, 0, api.ActionIsolate
		}, held},
		"it was cut off from its storage": {func(f *api.NodeFence, _ *observed.Look) {
			at := observed.StampOf(now.Add(-5 * time.Minute))
			f.Status.CutOrReleased, f.Status.Power.Cuts = false, 0
			f.Status.Isolation = []api.IsolationRecord{{DeviceRecord: api.DeviceRecord{OffAt: &at}, Device: "network-1"}}
		}, held},
		"somebody has taken the taint away by hand": {func(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = false }, alone},
		"it is not healthy for long enough, whoever uncordons it": {func(f *api.NodeFence, _ *observed.Look) {
			at := observed.StampOf(now.Add(-time.Second))
			f.Status.ReadySince, f.Spec.Requests.Uncordon = &at, uncordonBy(now)
		}, "Recovering NodeHealthy, , next +2s"},
		"it is ill again": {func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "Unknown" }, "Recovering NodeHealthy, , next +10s"},
		"it is deleted":   {func(_ *api.NodeFence, s *observed.Look) { s.Node = observed.Node{} }, "Recovering NodeHealthy, WriteReport, next +10s"},
		"it is another":   {func(_ *api.NodeFence, s *observed.Look) { s.Node.UID = "uid-2" }, "Recovering NodeHealthy, WriteReport, next +10s"},
		"it was asked for once": {func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.Uncordon, f.Status.Answers = uncordonBy(now), done(api.AskedUncordon, metav1.NewTime(now))
		}, held},
		"it is asked for twice": {func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.Uncordon, f.Status.Answers = uncordonBy(now), done(api.AskedUncordon, metav1.NewTime(fencetest.Start))
		}, back},
		"it healed beforehand": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.CutOrReleased, f.Status.Power.Cuts, f.Status.Outcome = false, 0, api.HealedBeforeFence
		}, alone},
		"it healed while the flow began anew":    {func(f *api.NodeFence, _ *observed.Look) { f.Status.Outcome = api.HealedBeforeFence }, held},
		"its request grew old in the second try": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Outcome = api.RequestExpired }, held},
	} {
		f, s := recovered(now, c.change)
		f.Status.Reason = api.NodeHealthy
		st, act := fence.Decide(f, s, now)
		got := fmt.Sprintf("%s %s, %s, next +%s", st.Phase, st.Reason, act, st.NextLook.Sub(now))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s (%s)", name, d, st.Message)
		}
		if st.Phase.HoldsSlot() {
			t.Errorf("%s: it holds a slot (S14)", name)
		}
	}
}

// TestWhyANodeIsKept: the record says so in words, with the field by which it ends (S28).
func TestWhyANodeIsKept(t *testing.T) {
	f, s := recovered(fencetest.Start.Add(time.Hour), nil)
	st, _ := fence.Decide(f, s, fencetest.Start.Add(time.Hour))
	const want = "healthy for 3s; policy p keeps it isolated until a person uncordons it (kubectl uncordon, or spec.requests.uncordon)"
	if last := st.History[len(st.History)-1]; last.Message != want || st.Message != want {
		t.Errorf("%q, %q", st.Message, last.Message)
	}
	f.Status, s.Node.Conditions[0].Status = st, "Unknown"
	const ill = "not healthy any more; once it is, policy p keeps it isolated until a person uncordons it (kubectl uncordon, or spec.requests.uncordon)"
	if st, _ := fence.Decide(f, s, fencetest.Start.Add(time.Hour)); st.Message != ill {
		t.Errorf("%q", st.Message)
	}
}

// TestAWordToUncordonIsForNow: whoever uncordons what is not kept uncordons nothing later.
func TestAWordToUncordonIsForNow(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for _, phase := range []api.Phase{api.Pending, api.Probing, api.Isolating, api.Fencing, api.Releasing, api.PoweringOn, api.Restoring, api.Recovering, api.Fenced, api.Failed} {
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Recovery.Uncordon, f.Status.Phase, f.Spec.Requests.Uncordon = api.UncordonManual, phase, uncordonBy(fencetest.Start)
		})
		st, _ := fence.Decide(f, s, now)
		told := len(st.History) > 0 && strings.HasPrefix(st.History[0].Message, "ann asked to uncordon")
		if waits := phase == api.Recovering; (st.Answer(api.AskedUncordon) == nil) != waits || told == waits {
			t.Errorf("%s: answered %v, told %v", phase, st.Answers, st.History)
		}
	}
}

// TestWhoUncordonsAndAsks is answered, in whichever order the two are seen.
func TestWhoUncordonsAndAsks(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := recovered(now, func(f *api.NodeFence, s *observed.Look) {
		f.Spec.Requests.Uncordon, f.Status.KeptSince, s.Node.Cordoned = uncordonBy(now), f.Status.ReadySince, false
	})
	st, act := fence.Decide(f, s, now)
	if a := st.Answer(api.AskedUncordon); act != fence.Undo || a == nil || a.Result != api.Accepted {
		t.Errorf("%s: %+v", act, a)
	}
}

// TestACordonThatWentBeforeAFailureSaysNothingOfIt: whoever uncordoned the node before it
// failed once more has not looked why.
func TestACordonThatWentBeforeAFailureSaysNothingOfIt(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := recovered(now, nil)
	look := func(ready string, cordoned bool) fence.Action {
		s.Node.Conditions[0].Status, s.Node.Cordoned = ready, cordoned
		s.Lease.Renewed += "+"
		var act fence.Action
		f.Status, act = fence.Decide(f, s, now)
		now = now.Add(5 * time.Second)
		return act
	}
	look("True", true)
	if f.Status.Reason != api.WaitingForUncordon || f.Status.KeptSince == nil {
		t.Fatalf("%s since %v", f.Status.Reason, f.Status.KeptSince)
	}
	look("Unknown", true)
	look("Unknown", false)
	for range 3 {
		if act := look("True", false); act != fence.None {
			t.Fatalf("%s: %s", act, f.Status.Message)
		}
	}
	if f.Status.Reason != api.WaitingForUncordon || strings.Contains(f.Status.Message, "kubectl") {
		t.Errorf("%s: %s", f.Status.Reason, f.Status.Message)
	}
}

// TestACordonOfALostRecord is this fence's to take off, and a person's is not (S22).
func TestACordonOfALostRecord(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct{ cordoned, ours, want bool }{
		"no cordon":                     {false, false, true},
		"a person's cordon":             {true, false, false},
		"a cordon of a record now lost": {true, true, true},
	} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Placed = api.Isolating, api.Placed{}
			s.Node.Taint, s.Node.Cordoned, s.Node.CordonOurs = false, c.cordoned, c.ours
		})
		if st, act := fence.Decide(f, s, now); act != fence.Isolate || !st.Placed.Taint || st.Placed.Cordon != c.want {
			t.Errorf("%s: %s, placed %+v", name, act, st.Placed)
		}
	}
}
