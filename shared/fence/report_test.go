package fence_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// closing is a fence that is over, and whose marks are gone; change it before it is decided on.
func closing(now time.Time, change func(*api.NodeFence, *observed.Look)) (*api.NodeFence, observed.Look) {
	return under(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now.Add(-time.Minute))
		f.UID, f.Status.OpenedAt, f.Status.Phase, f.Status.PhaseSince = "fence-1", &at, api.Recovering, &at
		f.Status.Outcome, f.Status.CutOrReleased = api.Recovered, true
		s.Node.Taint, s.Node.Cordoned, s.Node.CordonOurs = false, false, false
		change(f, s)
	})
}

// TestAFenceIsClosedAfterItsReport: the report is tried to be written until it is seen, and the finalizer comes off
// after that. A report with another content stays, and the fence ends all the same; so does a fence whose report can't
// be written (S27, S28).
func TestAFenceIsClosedAfterItsReport(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	none := func(*api.NodeFence, *observed.Look) {}
	f, s := closing(now, none)
	st, act := fence.Decide(f, s, now)
	if act != fence.WriteReport || st.Report == nil || st.Report.Digest == "" || st.Report.Name != "fence-1-1" {
		t.Fatalf("%q, %+v", act, st.Report)
	}
	saved := *st.Report
	written := &observed.Report{Digest: saved.Digest}
	later := func(after time.Duration) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) {
			r := saved
			r.At = observed.StampOf(now.Add(-after))
			f.Status.Report = &r
		}
	}
	last := func(after time.Duration) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, s *observed.Look) {
			later(after)(f, s)
			f.Status.Report.LastTryAt = &f.Status.Report.At
		}
	}
	for name, c := range map[string]struct {
		change  func(*api.NodeFence, *observed.Look)
		seen    *observed.Report
		want    fence.Action
		missing string
	}{
		"it is not there yet":          {later(time.Second), nil, fence.WriteReport, ""},
		"it is written":                {later(time.Second), written, fence.DropFinalizer, ""},
		"written by who died since":    {later(time.Hour), written, fence.DropFinalizer, ""},
		"another one is there":         {later(time.Second), &observed.Report{Digest: "another"}, fence.DropFinalizer, "is there already with another content"},
		"somebody was before it":       {none, &observed.Report{Digest: "another"}, fence.DropFinalizer, "is there already with another content"},
		"its time is over":             {later(facts.ReportWithin + time.Second), nil, fence.WriteReport, ""},
		"it can't be written":          {last(facts.ReportWithin + time.Second), nil, fence.DropFinalizer, "could not be written"},
		"somebody waits, not for long": {func(f *api.NodeFence, s *observed.Look) { later(facts.ReportSoon-time.Second)(f, s); s.Deleting = true }, nil, fence.WriteReport, ""},
		"somebody waits":               {func(f *api.NodeFence, s *observed.Look) { last(facts.ReportSoon+time.Second)(f, s); s.Deleting = true }, nil, fence.DropFinalizer, "could not be written"},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := closing(now, c.change)
			s.Report = c.seen
			st, act := fence.Decide(f, s, now)
			if act != c.want || !strings.Contains(st.Report.Missing, c.missing) || (st.Report.Missing == "") != (c.missing == "") {
				t.Errorf("%q, %+v", act, st.Report)
			}
			told := slices.ContainsFunc(st.History, func(h api.HistoryEntry) bool { return h.Reason == api.ReportNotWritten })
			if told != (c.missing != "") {
				t.Errorf("told: %v", st.History)
			}
		})
	}
}

// TestWhichFencesLeaveAReport: those that had begun, and those that somebody asked for.
func TestWhichFencesLeaveAReport(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	blip := func(f *api.NodeFence) { f.Status.Outcome, f.Status.CutOrReleased = api.HealedBeforeFence, false }
	for name, c := range map[string]struct {
		change func(*api.NodeFence)
		want   bool
	}{
		"a node that healed at once": {blip, false},
		"one that was admitted": {func(f *api.NodeFence) {
			blip(f)
			at := observed.StampOf(now)
			f.Status.DecidedAt = &at
		}, true},
		"one that somebody asked for": {func(f *api.NodeFence) {
			blip(f)
			f.Status.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", User: "anna", JoinedAt: observed.StampOf(now)}}
		}, true},
		"one that a person ended": {func(f *api.NodeFence) { blip(f); f.Status.Outcome = api.Aborted }, true},
		"one under DryRun": {func(f *api.NodeFence) {
			blip(f)
			f.Status.Decision.Settings.Mode = api.ModeDryRun
			f.Status.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", User: "anna", JoinedAt: observed.StampOf(now)}}
		}, false},
		"one that was deleted before anything was decided": {func(f *api.NodeFence) { f.Status.Decision.Policy.Name = "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := closing(now, func(f *api.NodeFence, _ *observed.Look) {
				f.Status.Placed, f.Status.Proof, f.Status.DecidedAt, f.Status.Power = api.Placed{}, nil, nil, api.PowerRecord{}
				c.change(f)
			})
			if got := (&facts.Facts{Decision: &f.Status.Decision, Record: &f.Status}).ReportDue(); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestWhatIsWrittenIsWhatWasSaved: the content has the digest that was saved before, and stays within some 2 KB for a
// usual fence and 12 KB for the longest texts.
func TestWhatIsWrittenIsWhatWasSaved(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	at := observed.StampOf(now)
	long := strings.Repeat("ä", 2000)
	for name, c := range map[string]struct {
		change func(*api.NodeFence)
		most   int
	}{
		"a usual fence": {func(*api.NodeFence) {}, 2048},
		"long texts": {func(f *api.NodeFence) {
			for i := range api.MaxAskedBy {
				f.Status.Decision.AskedBy = append(f.Status.Decision.AskedBy, api.AskedBy{ID: long + string(rune('a'+i)), Source: long, User: long, Reason: long, JoinedAt: at})
			}
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "anna", At: metav1.NewTime(now), Reason: long}}
			f.Status.Answers = []api.RequestAnswer{{Request: api.AskedConfirmOff, By: "anna", At: metav1.NewTime(now), Result: api.Done, AnsweredAt: at}}
			f.Status.Proof = &api.Proof{Type: api.ProofConfirmed, By: "anna", Device: "power-1", Identity: long, At: at, Reads: make([]api.Read, 8)}
			f.Status.Release = api.ReleaseRecord{StartedAt: &at, DoneAt: &at, Pods: 3, KeptPods: long}
		}, 12 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := closing(now, func(f *api.NodeFence, _ *observed.Look) { c.change(f) })
			st, act := fence.Decide(f, s, now)
			if act != fence.WriteReport {
				t.Fatalf("%q", act)
			}
			f.Status = st
			r := fence.ReportOf(f)
			if got := r.Spec.Digest(); got != st.Report.Digest || r.Name != st.Report.Name {
				t.Errorf("%s has digest %s, saved is %+v", r.Name, got, st.Report)
			}
			text, err := json.Marshal(r)
			if err != nil || len(text) > c.most {
				t.Errorf("%d bytes (%v): %s", len(text), err, text)
			}
			var read api.FenceReport
			if err := json.Unmarshal(text, &read); err != nil || read.Spec.Digest() != st.Report.Digest {
				t.Errorf("read again it has digest %s (%v)", read.Spec.Digest(), err)
			}
		})
	}
}
