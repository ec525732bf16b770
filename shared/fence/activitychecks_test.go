package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What the walk does not come to: the second pass of a flow, and whole counts.
func TestWhatWasSeenBeforeACutIsForgotten(t *testing.T) { // S3, S26
	at := observed.StampOf(fencetest.Start)
	f := &api.NodeFence{Spec: specs.Activity().AsSpec(), Status: specs.Activity().In(api.NodeFenceStatus{})}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Failed, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &at, CutOrReleased: true,
		ActivityChecks: &api.ActivityRecord{CheckRound: api.CheckRound{Number: 7, EndedAt: &at}, Failed: 2, FailedAt: &at},
	}
	f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "me"}
	st, _ := fence.Decide(f, fencetest.Look(f, fencetest.Start, "Unknown", false, "a"), fencetest.Start)
	want := &api.ActivityRecord{CheckRound: api.CheckRound{Number: 7}}
	if d := cmp.Diff(want, st.ActivityChecks); d != "" || st.Phase != api.Pending {
		t.Errorf("%s: %s", st.Phase, d)
	}
}

func TestARoundsVerdict(t *testing.T) {
	still, moved := observed.StampOf(fencetest.Start.Add(-time.Minute)), observed.StampOf(fencetest.Start.Add(time.Second))
	since := observed.StampOf(fencetest.Start)
	for name, c := range map[string]struct {
		lease  *api.Time
		said   []api.Answer
		answer api.Answer
	}{
		"one witness is enough for alive":            {&still, []api.Answer{api.AnswerNone, api.AnswerActivity}, api.AnswerActivity},
		"a Lease that moved is one":                  {&moved, []api.Answer{api.AnswerNone}, api.AnswerActivity},
		"dead by all checks and the Lease":           {&still, []api.Answer{api.AnswerNone, api.AnswerNone}, api.AnswerNone},
		"what went wrong is neither":                 {&still, []api.Answer{api.AnswerNone, api.AnswerError}, api.AnswerError},
		"the checks alone are one witness, too few":  {nil, []api.Answer{api.AnswerNone, api.AnswerNone}, api.AnswerError},
		"a Lease that may still move says nothing":   {&since, []api.Answer{api.AnswerNone}, api.AnswerError},
		"the Lease alone is one witness, too few":    {&still, nil, api.AnswerError},
		"activity beside what went wrong is enough":  {&still, []api.Answer{api.AnswerError, api.AnswerActivity}, api.AnswerActivity},
		"activity without a Lease to be seen is one": {nil, []api.Answer{api.AnswerActivity}, api.AnswerActivity},
	} {
		d := fence.CoreOf(nil, api.NodeFenceStatus{Lease: api.LeaseRecord{StillSince: c.lease}}, observed.Look{Lease: observed.Lease{Exists: c.lease != nil, Renewal: fencetest.Renewal}}, fencetest.Start.Add(2*time.Second))
		r := &api.CheckRound{Since: &since}
		for _, a := range c.said {
			r.Results = append(r.Results, api.CheckResult{Check: "x", Answer: a})
		}
		if got, what := d.Verdict(r); got != c.answer {
			t.Errorf("%s: %s (%s)", name, got, what)
		}
	}
}

// TestTheEighthOfTen holds the numbers to CloudStack's: more than 0.7 of 10.
func TestTheEighthOfTen(t *testing.T) {
	p := &api.ActivitySettings{Rounds: 10, FailedRounds: 8}
	for failed := range int32(11) {
		if got := facts.Dead(p, &api.ActivityRecord{Failed: failed}); got != (failed >= 8) {
			t.Errorf("%d failed: dead is %v", failed, got)
		}
	}
}

// TestANodeThatIsAliveForTooLong: whoever reads the record sees that the node was
// alive, for how long, and that the policy wants it fenced all the same (S28).
func TestANodeThatIsAliveForTooLong(t *testing.T) {
	began, now := observed.StampOf(fencetest.Start), fencetest.Start.Add(200*time.Second)
	f := &api.NodeFence{Spec: specs.Activity().AsSpec(), Status: specs.Activity().In(api.NodeFenceStatus{})}
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &began,
		Evidence:       []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Mark: began, Since: began}},
		ActivityChecks: &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, EndedAt: &began}, Degraded: true, DegradedSince: &began, Saw: "it answers"},
	}
	st, _ := fence.Decide(f, fencetest.Look(f, now, "Unknown", false, "a"), now)
	last := st.History[len(st.History)-1]
	want := api.HistoryEntry{At: observed.StampOf(now), Phase: api.Isolating, Reason: api.Admitted, Message: "within all limits; unhealthy and alive since " +
		"2026-01-01T00:00:00Z (it answers), which is longer than 1m40s: going on, as the policy says (activityChecks.onAliveTimeout)"}
	if d := cmp.Diff(want, last); d != "" {
		t.Error(d)
	}
}
