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

// waiting is a fence of a node that is NotReady since a minute, of the five that the
// policy asks for.
func waiting(now time.Time, change func(*api.NodeFence, *observed.Look)) (*api.NodeFence, observed.Look) {
	return under(now, func(f *api.NodeFence, s *observed.Look) {
		since := observed.StampOf(now.Add(-time.Minute))
		f.Status.Decision.Settings.UnhealthyConditions[0].Duration = metav1.Duration{Duration: 5 * time.Minute}
		f.Status.Phase, f.Status.OpenedAt, f.Status.Placed, f.Status.DecidedAt = api.Pending, &since, api.Placed{}, nil
		s.Node.Taint, s.Node.Conditions[0].Since = false, since.Time
		f.Status.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Mark: since, Since: since}}
		change(f, s)
	})
}

func request(id string, at time.Time) api.AskedBy {
	return api.AskedBy{ID: id, Source: "/me", Type: "t", User: "ann", Reason: "smoke", JoinedAt: observed.StampOf(at)}
}

// TestARequestJoinsTheFenceThatWaits: from there it goes on as asked for, for as long as
// a request counts, and through the gate and its limits like any other (S7).
func TestARequestJoinsTheFenceThatWaits(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	joins := func(ago time.Duration) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) { fence.Join(f, request("1", now.Add(-ago))) }
	}
	and := func(all ...func(*api.NodeFence, *observed.Look)) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, s *observed.Look) {
			for _, c := range all {
				c(f, s)
			}
		}
	}
	heals := func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "True" }
	suspicion := func(f *api.NodeFence, s *observed.Look) {
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{}}
		f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: 12 * time.Second}}
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   string // phase, reason, what stays of the story
	}{
		"nobody asks":   {func(*api.NodeFence, *observed.Look) {}, "Pending WaitingForTime"},
		"somebody does": {joins(0), "Isolating Admitted RequestMerged"},
		"there is no slot": {and(joins(0), func(_ *api.NodeFence, s *observed.Look) {
			s.Reserved, s.Verdict = nil, &observed.Verdict{Reason: api.TooManyConcurrent}
		}), "Pending TooManyConcurrent RequestMerged"},
		"the policy is paused":              {and(joins(0), func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }), "Pending Paused RequestMerged"},
		"the condition goes":                {and(joins(time.Minute), heals), "Isolating Admitted RequestMerged"},
		"it is old by now":                  {joins(api.RequestValidity + time.Second), "Pending WaitingForTime RequestMerged"},
		"it is old, and the condition goes": {and(joins(api.RequestValidity+time.Second), heals), "Recovering RequestExpired RequestMerged"},
		"its record is older than a request is": {and(joins(0), func(f *api.NodeFence, _ *observed.Look) {
			at := observed.StampOf(fencetest.Start)
			f.Status.OpenedAt = &at
		}), "Isolating Admitted RequestMerged"},
		"another came since": {and(joins(api.RequestValidity+time.Second), func(f *api.NodeFence, _ *observed.Look) { fence.Join(f, request("2", now)) }), "Isolating Admitted RequestMerged RequestMerged"},
		"activity checks are being made": {and(joins(0), func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.ActivityChecks = &api.ActivitySettings{}
		}), "Isolating Admitted RequestMerged"},
		"the Lease alone speaks for it":         {and(suspicion, joins(0)), "Isolating Admitted RequestMerged"},
		"the Lease alone, and a request is old": {and(suspicion, joins(api.RequestValidity+time.Second)), "Probing LeaseStandsStill RequestMerged"},
		"it was given up": {and(joins(0), func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase, f.Status.Reason = api.Failed, api.DeviceFailed
		}), "Failed DeviceFailed RequestMerged"},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := waiting(now, c.change)
			st, _ := fence.Decide(f, s, now)
			got := fmt.Sprint(st.Phase, " ", st.Reason)
			for _, h := range st.History {
				if h.Reason == api.RequestMerged {
					got += " " + string(h.Reason)
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s: %s", got, c.want, st.Message)
			}
		})
	}
}

// TestAJoinIsToldOnce with who, why and by which event (S28).
func TestAJoinIsToldOnce(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := waiting(now, func(f *api.NodeFence, _ *observed.Look) {
		fence.Join(f, request("1", now))
		fence.Join(f, request("2", now))
	})
	for range 3 {
		f.Status, _ = fence.Decide(f, s, now)
	}
	var got []string
	for _, h := range f.Status.History {
		if h.Reason == api.RequestMerged {
			got = append(got, h.Message)
		}
	}
	want := []string{
		"asked for by ann (smoke), event 1, joins this fence, which goes on as asked for",
		"asked for by ann (smoke), event 2, joins this fence",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i := range 30 {
		fence.Join(f, request(fmt.Sprint("more", i), now))
	}
	if n := len(f.Status.Decision.AskedBy); n != api.MaxAskedBy || f.Status.Decision.AskedBy[0].ID != "1" || !f.Served(&api.AskedBy{ID: "more29", Source: "/me"}) {
		t.Errorf("%d are named, and the first and the last are not among them", n)
	}
}

// TestWhatJoinedIsUsedUp also when the fence is over, and the next one (S7, S29).
func TestWhatJoinedIsUsedUp(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := waiting(now, func(f *api.NodeFence, _ *observed.Look) {
		fence.Join(f, request("1", now))
		fence.Join(f, request("2", now))
	})
	f.Status, _ = fence.Decide(f, s, now)
	f.Status = fence.Opening(f, api.Decision{Trigger: api.Trigger{Type: api.TriggerRequest}, AskedBy: []api.AskedBy{request("3", now)}}, now)
	for _, id := range []string{"1", "2", "3"} {
		if !f.ServedID(id) || !f.Served(&api.AskedBy{ID: id, Source: "/me"}) {
			t.Errorf("%s could be used again", id)
		}
	}
	if f.ServedID("4") {
		t.Error("4 was never used")
	}
}

func missingNode(f *api.NodeFence) {
	f.Status.Decision.NodeUID, f.Status.Decision.Trigger = "", api.Trigger{Type: api.TriggerNodeMissing, NodeMissing: &api.NodeMissingTrigger{}}
}

// TestEnds: what can't answer to a request any more, and what still does.
func TestEnds(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	cut := func(f *api.NodeFence) { f.Status.Power.SwitchedByUs = true }
	for name, c := range map[string]struct {
		change func(*api.NodeFence)
		want   string
		joins  string
	}{
		"it waits":                 {func(*api.NodeFence) {}, "", "it joins the fence that waits"},
		"it was given up":          {func(f *api.NodeFence) { f.Status.Phase = api.Failed }, "", "it joins the fence that was given up"},
		"it was cut":               {cut, "", "it joins the fence that is under way"},
		"it was cut once":          {func(f *api.NodeFence) { f.Status.CutOrReleased = true }, "", "it joins the fence that is under way"},
		"it has a request already": {func(f *api.NodeFence) { f.Status.Decision.AskedBy = []api.AskedBy{{ID: "0"}} }, "", "it joins the fence that is under way"},
		"it is being undone":       {func(f *api.NodeFence) { f.Status.Phase = api.Recovering }, "the fence of this node that is under way ends", ""},
		"it goes back to the gate": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Outcome = api.Recovering, api.SentBack
		}, "", "it joins the fence that waits"},
		"it goes back to the gate, and a person has ended it": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Outcome, f.Spec.Requests.Abort = api.Recovering, api.SentBack, &api.AbortRequest{By: "ann"}
		}, "the fence of this node that is under way ends", ""},
		"it gives access back on its way to the gate": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Outcome, f.Status.Restore = api.Restoring, api.SentBack, &api.RestoreRecord{Then: api.Recovering}
		}, "", "it joins the fence that waits"},
		"it gives access back, and stays as it is then": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Restore = api.Restoring, &api.RestoreRecord{Then: api.Fenced}
		}, "", "it joins the fence that waits"},
		"it gives access back, and is undone then": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Restore = api.Restoring, &api.RestoreRecord{Then: api.Recovering}
		}, "the fence of this node that is under way ends", ""},
		"it gives access back, for the node has healed": {func(f *api.NodeFence) {
			f.Status.Phase, f.Status.Outcome, f.Status.Restore = api.Restoring, api.HealedBeforeFence, &api.RestoreRecord{Then: api.Recovering}
		}, "the fence of this node that is under way ends", ""},
		"it was cut, and the node is back":  {func(f *api.NodeFence) { cut(f); f.Status.Phase = api.Recovering }, "", "it joins the fence that is under way"},
		"a person has ended it":             {func(f *api.NodeFence) { f.Spec.Requests.Abort = &api.AbortRequest{By: "ann"} }, "the fence of this node that is under way ends", ""},
		"the Node is another one":           {func(f *api.NodeFence) { f.Status.Decision.NodeUID = "another" }, "the fence that is under way is of another Node", ""},
		"it was cut as another one":         {func(f *api.NodeFence) { cut(f); f.Status.Decision.NodeUID = "another" }, "the fence that is under way is of another Node", ""},
		"there was no Node":                 {missingNode, "the fence that is under way is of another Node", ""},
		"there was no Node, and it was cut": {func(f *api.NodeFence) { cut(f); missingNode(f) }, "", "it joins the fence that is under way"},
		"its drain was given up":            {gaveUp, "", "it joins the fence that waits, which drains its node once more"},
		"it was opened and not looked at": {func(f *api.NodeFence) {
			f.Status = fence.Opening(f, f.Status.Decision, now)
		}, "", "it joins the fence that waits"},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := waiting(now, func(f *api.NodeFence, _ *observed.Look) { c.change(f) })
			got := fence.Ends(f, s.Node.UID)
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got != "" {
				return
			}
			if words := fence.Join(f, request("1", now)); !strings.HasPrefix(words, c.joins) {
				t.Errorf("%q, want %q", words, c.joins)
			}
			if !f.ServedID("1") {
				t.Error("it could be used again")
			}
		})
	}
}

// TestWhatWasCarriedOutDoesNotExpire: the request of a fence that is back at the gate after
// its cut is not said to be one that was never begun (S28).
func TestWhatWasCarriedOutDoesNotExpire(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for served, want := range map[bool]api.Reason{false: api.RequestExpired, true: api.HealedBeforeFence} {
		f, s := waiting(now, func(f *api.NodeFence, s *observed.Look) {
			fence.Join(f, request("1", now.Add(-api.RequestValidity-time.Minute)))
			f.Status.CutOrReleased = served
			s.Node.Conditions[0].Status = "True"
		})
		if st, _ := fence.Decide(f, s, now); st.Outcome != want {
			t.Errorf("carried out %v: %s (%s), want %s", served, st.Outcome, st.Message, want)
		}
	}
}
