package fence_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// done is the last word on a request of that time.
func done(name api.RequestName, at metav1.Time) []api.RequestAnswer {
	return []api.RequestAnswer{{Request: name, At: at, Result: api.Done}}
}

// TestAWordAboutAnotherFenceCountsForNothing: it was written while that one ended and this
// one opened, or stands in a file that somebody kept. It is refused, and nothing that it
// asks for happens (S3, S20).
func TestAWordAboutAnotherFenceCountsForNothing(t *testing.T) {
	now, at := fencetest.Start.Add(time.Hour), metav1.NewTime(fencetest.Start)
	about := func(n int64) *api.Request { return &api.Request{FenceNumber: n, By: "ann", At: at} }
	for name, c := range map[string]struct {
		asked  api.RequestName
		phase  api.Phase
		ask    func(r *api.Requests, fence int64)
		counts func(api.NodeFenceStatus) bool
	}{
		"a confirmation": {api.AskedConfirmOff, api.Failed, func(r *api.Requests, n int64) { r.ConfirmOff = &api.Confirmation{Request: *about(n)} },
			func(st api.NodeFenceStatus) bool { return st.Phase == api.Pending }},
		"a retry": {api.AskedRetry, api.Failed, func(r *api.Requests, n int64) { r.Retry = about(n) },
			func(st api.NodeFenceStatus) bool { return st.Phase == api.Pending }},
		"an approval": {api.AskedApprove, api.Pending, func(r *api.Requests, n int64) { r.Approve = about(n) },
			func(st api.NodeFenceStatus) bool { return st.Reason != api.WaitingForApproval }},
		"an abort": {api.AskedAbort, api.Pending, func(r *api.Requests, n int64) { r.Abort = &api.AbortRequest{FenceNumber: &n, By: "ann", At: at} },
			func(st api.NodeFenceStatus) bool { return st.Outcome == api.Aborted }},
	} {
		t.Run(name, func(t *testing.T) {
			for n, want := range map[int64]bool{4: true, 3: false, 5: false} {
				f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
					f.Status.FenceNumber, f.Status.Phase = 4, c.phase
					f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = api.ModeRequireApproval, 2*time.Hour
					c.ask(&f.Spec.Requests, n)
				})
				st, _ := fence.Decide(f, s, now)
				a := st.Answer(c.asked)
				if got := c.counts(st); got != want || a == nil || (a.Result == api.Refused) == want {
					t.Errorf("a word about fence %d in fence 4: counts %v, want %v; %s, %s, %q; answers %+v", n, got, want, st.Phase, st.Reason, st.Message, st.Answers)
				}
			}
		})
	}
}

// TestARefusedWordDoesNotSpeakForAnother: the same person at the same time, about this
// fence, is heard.
func TestARefusedWordDoesNotSpeakForAnother(t *testing.T) {
	now, at := fencetest.Start.Add(time.Hour), metav1.NewTime(fencetest.Start)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.FenceNumber, f.Status.Phase, f.Spec.Requests.Retry = 4, api.Failed, &api.Request{FenceNumber: 3, By: "ann", At: at}
	})
	f.Status, _ = fence.Decide(f, s, now)
	if a := f.Status.Answer(api.AskedRetry); a == nil || a.Result != api.Refused || f.Status.Phase != api.Failed {
		t.Fatalf("%s: %+v", f.Status.Phase, f.Status.Answers)
	}
	f.Spec.Requests.Retry.FenceNumber = 4
	if st, _ := fence.Decide(f, s, now); st.Phase != api.Pending || st.Answer(api.AskedRetry).Result != api.Done {
		t.Errorf("%s: %+v", st.Phase, st.Answers)
	}
}

// TestAnAbortNeedsNoNumber: a brake brakes.
func TestAnAbortNeedsNoNumber(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.FenceNumber, f.Status.Phase, f.Spec.Requests.Abort = 4, api.Pending, &api.AbortRequest{By: "ann", At: metav1.NewTime(fencetest.Start)}
	})
	st, _ := fence.Decide(f, s, now)
	if st.Outcome != api.Aborted {
		t.Errorf("%s, %s: %s", st.Phase, st.Reason, st.Message)
	}
}

// TestAnAnswerStandsOnce: what was answered is not answered again at each look, and another
// word takes its place.
func TestAnAnswerStandsOnce(t *testing.T) {
	now, at := fencetest.Start.Add(time.Hour), metav1.NewTime(fencetest.Start)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase, f.Spec.Requests.Retry = api.Releasing, &api.Request{FenceNumber: 1, By: "ann", At: at}
	})
	st, _ := fence.Decide(f, s, now)
	first := st.Answers
	f.Status = st
	st, _ = fence.Decide(f, s, now.Add(time.Second))
	if d := cmp.Diff(first, st.Answers); d != "" || len(first) != 1 || first[0].Result != api.NotNeeded {
		t.Error(d, first)
	}
	f.Status, f.Spec.Requests.Retry.At = st, metav1.NewTime(fencetest.Start.Add(time.Second))
	st, _ = fence.Decide(f, s, now.Add(time.Second))
	if len(st.Answers) != 1 || !st.Answered(api.AskedRetry, f.Spec.Requests.Retry.At) {
		t.Errorf("%+v", st.Answers)
	}
}

// TestAFractionOfASecond: a request's at may have one, and its answer is stored without. The request is
// answered once all the same: a retry that was carried out would otherwise be carried out again whenever
// its fence is given up.
func TestAFractionOfASecond(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase = api.Releasing
		f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start.Add(400 * time.Millisecond))}
	})
	f.Status, _ = fence.Decide(f, s, now)
	stored, err := json.Marshal(f.Status.Answers)
	if err != nil {
		t.Fatal(err)
	}
	var read []api.RequestAnswer
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	f.Status.Answers = read
	st, _ := fence.Decide(f, s, now.Add(time.Minute))
	if d := cmp.Diff(read, st.Answers); d != "" || !f.Status.Answered(api.AskedRetry, f.Spec.Requests.Retry.At) {
		t.Errorf("the request is not answered by %s; answered again: %s", stored, d)
	}
	later := metav1.NewTime(fencetest.Start.Add(time.Second))
	if f.Status.Answered(api.AskedRetry, later) {
		t.Error("the request of the next second counts as answered")
	}
}

// TestARequestOfATimeThatCannotBeStored: a time of the year 1 or of before, or after the year 9999, passes the
// schema of a request. Its answer can be stored all the same, and stands once, or no status of this fence
// could be written any more and the fence would stand still (S25, S27).
func TestARequestOfATimeThatCannotBeStored(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for _, text := range []string{
		"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.5Z", "0000-02-03T04:05:06Z", "0000-01-01T00:00:00+01:00",
		"9999-12-31T23:59:59-01:00",
	} {
		var at metav1.Time
		if err := at.UnmarshalJSON([]byte(`"` + text + `"`)); err != nil {
			t.Fatal(err)
		}
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase = api.Releasing
			f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ann", At: at}
			f.Spec.Requests.Abort = &api.AbortRequest{By: "ann", At: at}
		})
		f.Status, _ = fence.Decide(f, s, now)
		if len(f.Status.Answers) != 2 || !f.Status.Answered(api.AskedRetry, at) {
			t.Errorf("%s: answers %+v", text, f.Status.Answers)
		}
		answered := f.Status.Answers
		f.Status.Answers = storedAnswers(t, text, answered)
		f.Status, _ = fence.Decide(f, s, now.Add(time.Minute))
		if d := cmp.Diff(answered, f.Status.Answers); d != "" {
			t.Errorf("%s: answered again: %s", text, d)
		}
	}
}

// TestAnAnswerThatCannotBeStoredAgain: it was read as the zero time, of a request that is gone since.
func TestAnAnswerThatCannotBeStoredAgain(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase, f.Status.Answers = api.Releasing, done(api.AskedRetry, metav1.Time{})
	})
	st, _ := fence.Decide(f, s, now)
	storedAnswers(t, "the zero time", st.Answers)
}

// storedAnswers are what the API server gives back of these answers, whose required fields it insists on.
func storedAnswers(t *testing.T, name string, all []api.RequestAnswer) (read []api.RequestAnswer) {
	t.Helper()
	for _, a := range all {
		stored, err := json.Marshal(a.At)
		var back metav1.Time
		if err == nil {
			err = json.Unmarshal(stored, &back)
		}
		if err != nil || back.IsZero() || !back.Equal(&a.At) {
			t.Errorf("%s: the answer of %s is stored as %s: %v", name, a.At, stored, err)
		}
		a.At = metav1.NewTime(back.UTC())
		read = append(read, a)
	}
	return read
}
