package fence_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestConditionsSayHowFarItCame, one row for each place at which a fence may stand.
func TestConditionsSayHowFarItCame(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	when := observed.StampOf(now.Add(-time.Minute))
	fenced := func(f *api.NodeFence) {
		f.Status.DecidedAt, f.Status.Placed.Taint = &when, true
		f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, Device: "mem 7", Reads: []api.Read{{At: when}, {At: when}}}
	}
	released := func(f *api.NodeFence) {
		fenced(f)
		f.Status.CutOrReleased, f.Status.Release = true, api.ReleaseRecord{StartedAt: &when, DoneAt: &when}
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence)
		want   string // Admitted Isolated ProvenOff Released Recovered Succeeded: True, False, Unknown
	}{
		"just opened":       {func(f *api.NodeFence) { f.Status.Phase, f.Status.Reason = api.Pending, api.Opened }, "UUUUUU"},
		"held by the gate":  {func(f *api.NodeFence) { f.Status.Phase, f.Status.Reason = api.Pending, api.TooManyUnhealthy }, "FUUUUU"},
		"with a slot":       {func(f *api.NodeFence) { f.Status.Phase, f.Status.DecidedAt = api.Isolating, &when }, "TFUUUU"},
		"being made sure":   {func(f *api.NodeFence) { fenced(f); f.Status.Phase, f.Status.Proof = api.Fencing, nil }, "TTFUUU"},
		"proven off":        {func(f *api.NodeFence) { fenced(f); f.Status.Phase = api.Releasing }, "TTTUUU"},
		"being released":    {func(f *api.NodeFence) { released(f); f.Status.Phase, f.Status.Release.DoneAt = api.Releasing, nil }, "TTTFUU"},
		"switched on again": {func(f *api.NodeFence) { released(f); f.Status.Phase = api.PoweringOn }, "TTTTFU"},
		"left off":          {func(f *api.NodeFence) { released(f); f.Status.Phase, f.Status.Reason = api.Fenced, api.StaysOff }, "TTTTFT"},
		"given up":          {func(f *api.NodeFence) { fenced(f); f.Status.Phase, f.Status.Proof = api.Failed, nil }, "TTFFFF"},
		"its device awaited": {func(f *api.NodeFence) {
			fenced(f)
			f.Status.Phase, f.Status.Proof, f.Status.Awaited = api.Fencing, nil, &api.AwaitedRecord{Since: when}
		}, "TTFUUF"},
		"over": {func(f *api.NodeFence) {
			released(f)
			f.Status.Phase, f.Status.Outcome, f.Status.Placed = api.Finished, api.Recovered, api.Placed{}
		}, "TFTTTT"},
		"healed":     {func(f *api.NodeFence) { f.Status.Phase, f.Status.Outcome = api.Finished, api.HealedBeforeFence }, "FFFFTT"},
		"called off": {func(f *api.NodeFence) { f.Status.Phase, f.Status.Outcome = api.Finished, api.Aborted }, "FFFFFF"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 3, ObservedGeneration: 12, Reason: api.WaitingForTime}}
			c.change(f)
			d := fence.CoreOf(&f.Status.Decision, f.Status, observed.Look{}, now)
			d.Describe()
			conditions := d.Status().Conditions
			got := ""
			for _, typ := range api.FenceConditions {
				is := meta.FindStatusCondition(conditions, typ)
				if is == nil || is.ObservedGeneration != 12 || is.Reason == "" {
					t.Fatalf("%s: %+v", typ, is)
				}
				got += string(is.Status[0])
			}
			if got != c.want || len(conditions) != len(api.FenceConditions) {
				t.Errorf("%s, want %s: %+v", got, c.want, conditions)
			}
		})
	}
}

// TestAFenceThatOpensForgetsTheLast: whoever waits for a condition waits for this fence,
// and not for what the last one came to.
func TestAFenceThatOpensForgetsTheLast(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, _ := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase, f.Status.Outcome = api.Finished, api.Recovered
		f.Status.Conditions = []metav1.Condition{{Type: api.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: "Recovered"}, {Type: "Processing", Status: metav1.ConditionFalse}}
	})
	st := fence.Opening(f, f.Status.Decision, now)
	if st.Conditions != nil {
		t.Error("before its first look:", st.Conditions)
	}
	f.Status = st
	st, _ = fence.Decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
	for _, typ := range api.FenceConditions {
		if is := meta.FindStatusCondition(st.Conditions, typ); is == nil || is.Status == metav1.ConditionTrue && typ != api.ConditionAdmitted {
			t.Errorf("%s: %+v", typ, is)
		}
	}
	if meta.FindStatusCondition(st.Conditions, "Processing") != nil {
		t.Error(st.Conditions)
	}
}
