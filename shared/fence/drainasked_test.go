package fence_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

const problemType = "io.nodefence.node.problem.v1"

// reportsApproved has reports open the fence, which a person approved so long ago.
func reportsApproved(ago time.Duration) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerProblem}
		f.Spec.Requests.Approve = &api.Request{FenceNumber: f.Status.FenceNumber, By: "ann", At: metav1.NewTime(stamp(ago).Time)}
		f.Status.Answers = []api.RequestAnswer{{
			Request: api.AskedApprove, FenceNumber: f.Status.FenceNumber, By: "ann", At: api.AnswerAt(f.Spec.Requests.Approve.At), Result: api.Accepted, AnsweredAt: *stamp(ago),
			Message: "it counts for this pass, within the limits",
		}}
	}
}

// TestADrainThatWasGivenUp: what stays has the fence wait, and not drain its node again and again. It
// drains once more for a user who asks since.
func TestADrainThatWasGivenUp(t *testing.T) {
	given := func(more ...func(*api.NodeFence, *observed.Look)) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, s *observed.Look) {
			for _, change := range more {
				change(f, s)
			}
			ended(api.DrainGivenUp)(f, s)
		}
	}
	alone := func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy = nil }
	yes := func(_ *api.NodeFence, s *observed.Look) { s.MayDrain = true }
	policy := func(d api.DrainSettings) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Drain = d }
	}
	longer := policy(api.DrainSettings{Timeout: metav1.Duration{Duration: 10 * time.Minute}, OnTimeout: api.DrainThenGiveUp})
	cuts := policy(api.DrainSettings{Timeout: metav1.Duration{Duration: 5 * time.Minute}, OnTimeout: api.DrainThenFence})
	user, report := asks(time.Minute, "ann", "t", ""), asks(time.Minute, "node problem Hung", problemType, "")
	checkAlive(t, api.Pending, map[string]drainCase{
		"a condition holds":                    {given(evidence), "Pending DrainTimedOut, , ended GivenUp"},
		"a problem is reported":                {given(alone, report, reportsApproved(25*time.Minute)), "Pending DrainTimedOut, , ended GivenUp"},
		"a problem was reported long ago":      {given(alone, asks(25*time.Minute, "node problem Hung", problemType, ""), reportsApproved(25*time.Minute)), "Recovering DrainTimedOut, , ended GivenUp"},
		"and a user has asked before":          {given(alone, asks(25*time.Minute, "node problem Hung", problemType, ""), asks(12*time.Minute, "ann", "t", "")), "Recovering DrainTimedOut, , ended GivenUp"},
		"a problem is reported besides":        {given(evidence, report), "Pending DrainTimedOut, , ended GivenUp"},
		"a source that is believed asks":       {given(evidence, asks(time.Minute, "", "t", "")), "Pending DrainTimedOut, , ended GivenUp"},
		"a user asks anew":                     {given(evidence, user), "Pending , AskDrain, ended GivenUp"},
		"a user asks anew, the gate says yes":  {given(evidence, user, yes), "Draining NodeDraining, "},
		"a user asks anew, nothing else stays": {given(alone, user), "Pending , AskDrain, ended GivenUp"},
		"a user has asked before":              {given(evidence, asks(12*time.Minute, "ann", "t", "")), "Pending DrainTimedOut, , ended GivenUp"},
		"a user asks anew, of a served fence":  {given(evidence, user, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].Served = true }), "Pending DrainTimedOut, , ended GivenUp"},
		"a user wants no drain":                {given(evidence, asks(time.Minute, "ann", "t", api.DrainSkip)), "Pending , Reserve, ended GivenUp"},
		"the policy gives more time":           {both(given(evidence), longer), "Pending , AskDrain, ended GivenUp"},
		"more time, and the gate says yes":     {both(given(evidence, yes), longer), "Draining NodeDraining, "},
		"the policy has it cut all the same":   {both(given(evidence), cuts), "Pending , AskDrain"},
	})
}

// TestADrainThatNobodyAsksForAnyMore ends as one that was given up, and says what was left (S28): nobody is
// told that it was not begun.
func TestADrainThatNobodyAsksForAnyMore(t *testing.T) {
	for want, ago := range map[string]time.Duration{
		"nobody has asked or reported for 15m0s; pod a/p is left": 50 * time.Minute,
		"asked for at 2026-01-01T02:00:00Z, which is still to come: the API server's clock was set back, and nobody knows how long ago that was; pod a/p is left": -time.Hour,
	} {
		st, _ := alive(api.Pending, func(f *api.NodeFence, s *observed.Look) {
			ended(api.DrainGivenUp)(f, s)
			f.Status.Decision.AskedBy[0].User, f.Status.Decision.AskedBy[0].JoinedAt = "", *stamp(ago)
		})
		if st.Phase != api.Recovering || st.Outcome != api.DrainTimedOut || st.Message != want {
			t.Errorf("%s %s: %q, want %q", st.Phase, st.Outcome, st.Message, want)
		}
	}
}

// TestWhatWaitsOnceItsDrainIsGivenUp, and what ends: there the reason would open it anew.
func TestWhatWaitsOnceItsDrainIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Reason
	}{
		"a request alone":           {func(*api.NodeFence, *observed.Look) {}, api.DrainTimedOut},
		"a condition":               {evidence, api.SentBack},
		"a condition, and a user":   {both(evidence, asks(time.Minute, "ann", "t", "")), api.SentBack},
		"an approved problem":       {both(func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].Type = problemType }, reportsApproved(time.Minute)), api.SentBack},
		"a request, and a problem":  {asks(time.Minute, "node problem Hung", problemType, ""), api.DrainTimedOut},
		"and a problem of long ago": {asks(25*time.Minute, "node problem Hung", problemType, ""), api.DrainTimedOut},
	} {
		st, _ := alive(api.Draining, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.AskedBy[0].User = "ann"
			c.change(f, s)
			f.Status.Drain.Spent.Duration, f.Status.Decision.Settings.Drain.OnTimeout = 5*time.Minute, api.DrainThenGiveUp
			f.Status.Drain.Rounds, f.Status.Drain.AskedAt = 1, stamp(time.Minute)
		})
		if st.Phase != api.Recovering || st.Outcome != c.want || st.Drain.Ended != api.DrainGivenUp {
			t.Errorf("%s: %s %s", name, st.Phase, st.Outcome)
		}
	}
}

// TestWhoseWishToSkipCounts: of those who ask still, and whose request is not old.
func TestWhoseWishToSkipCounts(t *testing.T) {
	withdrawn := func(uid string) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) {
			f.Annotations = map[string]string{"nodefence.io/withdrawn-askers": uid}
		}
	}
	wish := func(ago time.Duration) func(*api.NodeFence, *observed.Look) {
		return asks(ago, "ann", "t", api.DrainSkip)
	}
	checkAlive(t, api.Pending, map[string]drainCase{
		"a moment ago":                 {wish(time.Minute), "Pending , Reserve"},
		"too long ago":                 {both(evidence, wish(50*time.Minute)), "Pending , AskDrain"},
		"at a time that is to come":    {both(evidence, wish(-time.Hour)), "Pending , AskDrain"},
		"withdrawn since":              {both(wish(time.Minute), withdrawn("2")), "Pending , AskDrain"},
		"another one was withdrawn":    {both(wish(time.Minute), withdrawn("1")), "Pending , Reserve"},
		"long ago, waits for approval": {both(wish(50*time.Minute), approved), "Pending , Reserve"},
	})
	st, act := alive(api.Pending, both(skips, both(wish(time.Minute), withdrawn("1,2"))))
	if st.Decision.AskedBy[0].Drain != "" || st.Decision.AskedBy[1].Drain != "" || act != fence.AskDrain {
		t.Errorf("two are withdrawn, and the record still has a wish: %+v, %s", st.Decision.AskedBy, act)
	}
}

// approved is a fence whose policy leaves an hour for a person's yes, which is there.
func approved(f *api.NodeFence, _ *observed.Look) {
	s := &f.Status.Decision.Settings
	s.Mode, s.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
	f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}
}

// TestAProblemThatIsReportedAgain keeps a fence waiting that has drained for it, and no other.
func TestAProblemThatIsReportedAgain(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	report := api.AskedBy{ID: "9", Source: "/x", Type: problemType, User: "node problem Hung", JoinedAt: observed.StampOf(now)}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   bool
	}{
		"it drained":             {ended(api.DrainGivenUp), true},
		"it drains":              {going, true},
		"it has not drained":     {func(*api.NodeFence, *observed.Look) {}, false},
		"another problem":        {both(going, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].User = "node problem Slow" }), false},
		"reported just now":      {both(going, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].JoinedAt = *stamp(time.Second) }), false},
		"the clock was set back": {both(going, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].JoinedAt = *stamp(-time.Hour) }), true},
		"power was cut":          {both(going, func(f *api.NodeFence, _ *observed.Look) { f.Status.CutOrReleased = true }), false},
		"a served report":        {both(going, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].Served = true }), false},
	} {
		f, _ := under(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/x", Type: problemType, User: "node problem Hung", JoinedAt: *stamp(10 * time.Minute)}}
			c.change(f, s)
		})
		was := f.Status.Decision.AskedBy[0].JoinedAt
		if got := f.ReportedAgain(report); got != c.want || f.Status.Decision.AskedBy[0].JoinedAt.Equal(&was) == c.want {
			t.Errorf("%s: %v, at %s", name, got, f.Status.Decision.AskedBy[0].JoinedAt)
		}
	}
}

func gaveUp(f *api.NodeFence) { ended(api.DrainGivenUp)(f, &observed.Look{}) }

// TestWhatAJoinedRequestIsTold of a fence whose drain was given up.
func TestWhatAJoinedRequestIsTold(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for words, r := range map[string]api.AskedBy{
		"it joins the fence that waits, which goes on without a drain":                                {User: "ann", Drain: api.DrainSkip},
		"it joins the fence that waits, which drains its node once more":                              {User: "ann"},
		"it joins the fence that waits, as its node could not be drained in time, and waits on":       {User: "node problem Hung", Type: problemType},
		"it joins the fence that waits, as its node could not be drained in time, and waits on" + " ": {},
	} {
		f, _ := under(now, func(f *api.NodeFence, _ *observed.Look) { gaveUp(f) })
		r.JoinedAt = observed.StampOf(now)
		if got := fence.Join(f, r); got != strings.TrimSpace(words) {
			t.Errorf("%q, want %q", got, words)
		}
	}
}
