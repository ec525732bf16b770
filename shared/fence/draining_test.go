package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// alive is a fence of a node that is Ready, with a Lease that moved a moment ago, that somebody asks
// for under spec.drain: {timeout: 5m}. It has been in that phase for a minute.
func alive(phase api.Phase, change func(*api.NodeFence, *observed.Look)) (api.NodeFenceStatus, fence.Action) {
	now := fencetest.Start.Add(time.Hour)
	f, seen := under(now, func(f *api.NodeFence, s *observed.Look) {
		minute, just := observed.StampOf(now.Add(-time.Minute)), observed.StampOf(now.Add(-time.Second))
		f.Status.Phase, f.Status.PhaseSince, f.Status.DecidedAt = phase, &minute, nil
		f.Status.Lease.StillSince, s.Node.Conditions[0].Status = &just, "True"
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerRequest}
		f.Status.Decision.AskedBy = []api.AskedBy{{ID: "1", Source: "/me", Type: "t", JoinedAt: minute}}
		f.Status.Decision.Settings.Drain = api.DrainSettings{Timeout: metav1.Duration{Duration: 5 * time.Minute}, OnTimeout: api.DrainThenFence}
		s.Reserved, s.Resolved = nil, true
		if phase == api.Pending {
			f.Status.Placed.Taint, s.Node.Taint = false, false
		} else {
			f.Status.Drain = &api.DrainRecord{BeganAt: minute, IsolatedAt: &minute, Rounds: 1, CountedAt: &just}
			f.Status.Drain.Spent.Duration = time.Minute - time.Second
			s.Draining = &observed.Draining{Evict: []observed.Pod{{Namespace: "a", Name: "p"}}}
		}
		change(f, s)
	})
	return fence.Decide(f, seen, now)
}

// drainCase is one row: what is changed, and what comes of it.
type drainCase struct {
	change func(*api.NodeFence, *observed.Look)
	want   string
}

func checkAlive(t *testing.T, phase api.Phase, rows map[string]drainCase) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			st, act := alive(phase, c.change)
			got := fmt.Sprintf("%s %s, %s", st.Phase, st.Reason, act)
			if st.Drain != nil && st.Drain.EndedAt != nil {
				got += ", ended " + string(st.Drain.Ended)
			}
			if got != c.want {
				t.Errorf("got  %s (%s)\nwant %s", got, st.Message, c.want)
			}
		})
	}
}

// evidence is a condition of a node that is Ready.
func evidence(f *api.NodeFence, s *observed.Look) {
	f.Status.Decision.AskedBy, f.Status.Decision.Trigger = nil, api.Trigger{Type: api.TriggerNodeCondition}
	f.Status.Decision.Settings.UnhealthyConditions[0] = api.ConditionSetting{Type: "Deadlock", Status: "True"}
	s.Node.Conditions = append(s.Node.Conditions, observed.Condition{Type: "Deadlock", Status: "True"})
}

// asks has somebody ask for the fence besides.
func asks(ago time.Duration, user, typ string, wish api.DrainWish) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Decision.AskedBy = append(f.Status.Decision.AskedBy, api.AskedBy{ID: "2", Source: "/x", Type: typ, User: user, Drain: wish, JoinedAt: *stamp(ago)})
	}
}

func skips(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy[0].Drain = api.DrainSkip }

func says(why api.Reason) *observed.Verdict {
	return &observed.Verdict{Reason: why, Again: time.Second}
}

func ended(how api.DrainEnd) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(fencetest.Start.Add(50 * time.Minute))
		f.Status.Drain = &api.DrainRecord{BeganAt: at, EndedAt: &at, Ended: how, Left: "pod a/p is left", Spent: metav1.Duration{Duration: 5 * time.Minute}}
		s.Node.Taint = how != api.DrainGivenUp // which is given back
		if how == api.DrainGivenUp {
			f.Status.Decision.Settings.Drain.OnTimeout = api.DrainThenGiveUp
			if by := f.Status.Decision.AskedBy; len(by) > 0 && by[0].Type == "t" && by[0].ID == "1" {
				by[0].User, by[0].JoinedAt = "ann", *stamp(12 * time.Minute)
			}
		}
	}
}

func unmarked(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = false }

func notReady(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "False" }

func yes(at time.Time) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, s *observed.Look) {
		end := observed.StampOf(fencetest.Start.Add(time.Hour - 10*time.Second))
		r := end.Add(at.Sub(fencetest.Start))
		f.Status.Drain.EndedAt, s.Reserved = &end, &r
	}
}

// quietFor has the fence have seen for so long that the node does not live.
func quietFor(d time.Duration) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, _ *observed.Look) { f.Status.SilentSince = stamp(d) }
}

// lasts has a condition of the policy have held for so long, which is its time there.
func lasts(typ, status string, d time.Duration) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, s *observed.Look) {
		f.Status.Decision.Settings.UnhealthyConditions = append(f.Status.Decision.Settings.UnhealthyConditions,
			api.ConditionSetting{Type: typ, Status: status, Duration: metav1.Duration{Duration: d}})
		f.Status.Evidence = append(f.Status.Evidence, api.Evidence{Type: api.TriggerNodeCondition, Condition: typ, Status: status, Mark: observed.StampOf(fencetest.Start), Since: *stamp(d)})
	}
}

// silent is a node that has failed.
func silent(_ *api.NodeFence, s *observed.Look) {
	s.Node.Conditions[0].Status, s.Lease.Exists = "Unknown", false
}

// away is one whose kubelet is away for less than the policy's time, with a problem that holds.
func away(f *api.NodeFence, s *observed.Look) {
	silent(f, s)
	f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{
		{Type: "Deadlock", Status: "True"}, {Type: "Ready", Status: "Unknown", Duration: metav1.Duration{Duration: 5 * time.Minute}}}
	s.Node.Conditions = append(s.Node.Conditions, observed.Condition{Type: "Deadlock", Status: "True"})
}

func TestWhatDrains(t *testing.T) {
	settings := func(change func(*api.Settings)) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) { change(&f.Status.Decision.Settings) }
	}
	evidence := func(f *api.NodeFence, s *observed.Look) { // a problem of a node that is Ready
		f.Status.Decision.AskedBy, f.Status.Decision.Trigger = nil, api.Trigger{Type: api.TriggerNodeCondition}
		f.Status.Decision.Settings.UnhealthyConditions[0] = api.ConditionSetting{Type: "Deadlock", Status: "True"}
		s.Node.Conditions = append(s.Node.Conditions, observed.Condition{Type: "Deadlock", Status: "True"})
	}
	checkAlive(t, api.Pending, map[string]drainCase{
		"it lives: the gate is asked first":   {func(*api.NodeFence, *observed.Look) {}, "Pending , AskDrain"},
		"the devices are read anew before":    {func(_ *api.NodeFence, s *observed.Look) { s.Resolved = false }, "Pending , Resolve"},
		"the gate says no":                    {func(_ *api.NodeFence, s *observed.Look) { s.Verdict = says(api.TooManyUnhealthy) }, "Pending TooManyUnhealthy, "},
		"the gate says yes":                   {func(_ *api.NodeFence, s *observed.Look) { s.MayDrain = true }, "Draining NodeDraining, "},
		"a condition of a node that is Ready": {evidence, "Pending , AskDrain"},
		"paused, though the gate says yes":    {func(_ *api.NodeFence, s *observed.Look) { s.MayDrain, s.Brakes.Paused = true, true }, "Pending Paused, "},
		"excluded, though the gate says yes":  {func(f *api.NodeFence, s *observed.Look) { s.MayDrain, s.Node.Excluded = true, "x" }, "Pending Excluded, "},
		"being deleted":                       {func(_ *api.NodeFence, s *observed.Look) { s.Node.Deleting = "x" }, "Pending NodeBeingDeleted, "},
		"our own machine":                     {func(_ *api.NodeFence, s *observed.Look) { s.Self = true }, "Pending OwnMachine, "},
		"a dry run":                           {settings(func(s *api.Settings) { s.Mode = api.ModeDryRun }), "Pending , DryDrain"},
		"a dry run, and our cordon stays":     {both(onlyCordoned, settings(func(s *api.Settings) { s.Mode = api.ModeDryRun })), "Recovering DryRun, "},
		"nobody approved":                     {settings(func(s *api.Settings) { s.Mode, s.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour }), "Pending WaitingForApproval, "},
		"no machine is cut":                   {settings(func(s *api.Settings) { s.Action = api.ActionIsolate }), "Pending , Reserve"},
		"no drain":                            {settings(func(s *api.Settings) { s.Drain.Timeout.Duration = 0 }), "Pending , Reserve"},
		"it is not Ready for a moment":        {notReady, "Pending WaitingForTime, "},
		"it is not Ready for longer":          {both(notReady, quietFor(30*time.Second)), "Pending , Reserve"},
		"its Lease is gone for a moment":      {func(_ *api.NodeFence, s *observed.Look) { s.Lease.Exists = false }, "Pending WaitingForTime, "},
		"it was not Ready, and is again":      {quietFor(time.Hour), "Pending , AskDrain"},
		"not Ready, by a clock set back":      {both(notReady, quietFor(-time.Hour)), "Pending WaitingForTime, "},
		"not Ready for the policy's time":     {both(notReady, lasts("Ready", "False", time.Minute)), "Pending , Reserve"},
		"its Lease has just missed two": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Lease.StillSince = stamp(2 * fencetest.Renewal)
		}, "Pending WaitingForTime, "},
		"its Lease stands still": {func(f *api.NodeFence, _ *observed.Look) {
			*f.Status.Lease.StillSince = observed.StampOf(fencetest.Start)
		}, "Pending , Reserve"},
		"somebody wants none":                  {skips, "Pending , Reserve"},
		"a person says that it is off":         {confirmed, "Pending , Reserve"},
		"stopped, and a person says it is off": {both(going, confirmed), "Pending , Reserve"},
		"power was cut before":                 {func(f *api.NodeFence, _ *observed.Look) { f.Status.CutOrReleased = true }, "Recovering HealedBeforeFence, "},
		"it has drained":                       {ended(api.DrainEmpty), "Pending , Reserve, ended Empty"},
		"it has drained for long enough":       {ended(api.DrainTimeIsOver), "Pending , Reserve, ended TimedOut"},
		"it was given up, and is asked for":    {ended(api.DrainGivenUp), "Recovering DrainTimedOut, , ended GivenUp"},
		"it was given up, and is ill":          {both(evidence, ended(api.DrainGivenUp)), "Pending DrainTimedOut, , ended GivenUp"},
		"it was given up, and has failed":      {both(ended(api.DrainGivenUp), silent), "Pending , Reserve, ended GivenUp"},
		"given up, and away for a moment":      {both(both(evidence, ended(api.DrainGivenUp)), away), "Pending DrainTimedOut, , ended GivenUp"},
		"given up, and the policy would cut": {both(both(evidence, ended(api.DrainGivenUp)), settings(func(s *api.Settings) {
			s.Drain.OnTimeout = api.DrainThenFence
		})), "Pending , AskDrain"},
		"it had failed, and lives again":       {ended(api.DrainSilent), "Pending , AskDrain"},
		"it has drained, and was unmarked":     {both(ended(api.DrainEmpty), unmarked), "Pending , AskDrain"},
		"a yes of before its drain's end":      {both(ended(api.DrainEmpty), yes(fencetest.Start.Add(-time.Second))), "Pending , Reserve, ended Empty"},
		"a yes of after its drain's end":       {both(ended(api.DrainEmpty), yes(fencetest.Start.Add(time.Second))), "Isolating Admitted, , ended Empty"},
		"a brake had stopped it, and is off":   {both(going, func(*api.NodeFence, *observed.Look) {}), "Pending , AskDrain"},
		"stopped, and the node is not Ready":   {both(going, notReady), "Pending , AskDrain"},
		"stopped, and the node has failed":     {both(going, silent), "Pending , Reserve, ended Silent"},
		"stopped, and somebody wants no drain": {both(going, skips), "Pending , Reserve, ended Skipped"},
	})
}

func both(one, two func(*api.NodeFence, *observed.Look)) func(*api.NodeFence, *observed.Look) {
	return func(f *api.NodeFence, s *observed.Look) { one(f, s); two(f, s) }
}

// going is a drain that a brake has stopped.
func going(f *api.NodeFence, _ *observed.Look) {
	at := observed.StampOf(fencetest.Start)
	f.Status.Drain = &api.DrainRecord{BeganAt: at, IsolatedAt: &at}
}

func confirmed(f *api.NodeFence, _ *observed.Look) {
	f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}}
}

func unasked(f *api.NodeFence, _ *observed.Look) { f.Status.Drain.Rounds = 0 }

func TestADrain(t *testing.T) {
	on := func(d *observed.Draining) func(*api.NodeFence, *observed.Look) {
		return func(_ *api.NodeFence, s *observed.Look) { s.Draining = d }
	}
	late := func(how api.DrainTimeoutAction) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Drain.Spent.Duration, f.Status.Decision.Settings.Drain.OnTimeout = 5*time.Minute-time.Second, how
		}
	}
	brake := func(b observed.Brakes) func(*api.NodeFence, *observed.Look) {
		return func(_ *api.NodeFence, s *observed.Look) { b.Looked = true; s.Brakes = b }
	}
	checkAlive(t, api.Draining, map[string]drainCase{
		"pods are asked to leave":           {func(*api.NodeFence, *observed.Look) {}, "Draining , Evict"},
		"not before it is isolated":         {func(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = false }, "Draining NodeDraining, Isolate"},
		"not again at once":                 {func(f *api.NodeFence, _ *observed.Look) { f.Status.Drain.AskedAt = stamp(time.Second) }, "Draining , "},
		"again after a while":               {func(f *api.NodeFence, _ *observed.Look) { f.Status.Drain.AskedAt = stamp(3 * time.Second) }, "Draining , Evict"},
		"a budget holds one":                {func(_ *api.NodeFence, s *observed.Look) { s.Evicted = &observed.Evicted{Held: []string{"a/p: b"}} }, "Draining DisruptionBudget, "},
		"one could not be asked":            {func(_ *api.NodeFence, s *observed.Look) { s.Evicted = &observed.Evicted{Failed: []string{"a/p: x"}} }, "Draining NodeDraining, "},
		"nobody has looked":                 {on(nil), "Draining , "},
		"one is leaving":                    {on(&observed.Draining{Leaving: []string{"a/p"}}), "Draining NodeDraining, "},
		"all have left":                     {on(&observed.Draining{}), "Pending Drained, , ended Empty"},
		"all have left, and it is unmarked": {both(on(&observed.Draining{}), func(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = false }), "Draining NodeDraining, Isolate"},
		"not Ready for a moment":            {func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "Unknown" }, "Draining NodeDraining, "},
		"the Lease stands for a moment":     {func(f *api.NodeFence, _ *observed.Look) { f.Status.Lease.StillSince = stamp(time.Hour) }, "Draining NodeDraining, "},
		"a problem, and the Lease stands for a moment": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Lease.StillSince = stamp(time.Hour)
			f.Status.Decision.Settings.UnhealthyConditions[0] = api.ConditionSetting{Type: "Deadlock", Status: "True"}
			s.Node.Conditions = append(s.Node.Conditions, observed.Condition{Type: "Deadlock", Status: "True"})
		}, "Draining NodeDraining, "},
		"a problem, and its kubelet is away": {away, "Draining NodeDraining, "},
		"nobody has looked for long": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.PhaseSince, f.Status.Drain.CountedAt = stamp(time.Hour), stamp(time.Hour)
		}, "Draining , Evict"},
		"its time is over, and no pod was asked": {both(late(api.DrainThenFence), unasked), "Draining , Evict"},
		"none to ask, and its time is over":      {both(both(late(api.DrainThenFence), unasked), on(&observed.Draining{Leaving: []string{"a/p"}})), "Pending DrainTimedOut, , ended TimedOut"},
		"not Ready until its time is over":       {both(both(late(api.DrainThenFence), unasked), notReady), "Pending DrainTimedOut, , ended TimedOut"},
		"a person says that it is off":           {confirmed, "Pending DrainCutShort, "},
		"it has failed":                          {silent, "Pending DrainCutShort, , ended Silent"},
		"somebody wants no drain":                {skips, "Pending DrainCutShort, , ended Skipped"},
		"its time is over":                       {late(api.DrainThenFence), "Pending DrainTimedOut, , ended TimedOut"},
		"its time is over, and gives up":         {late(api.DrainThenGiveUp), "Recovering DrainTimedOut, , ended GivenUp"},
		"the clock was set back": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.PhaseSince, f.Status.Drain.CountedAt = stamp(-time.Hour), stamp(-time.Hour)
		}, "Draining , Evict"},
		"aborted":                          {func(f *api.NodeFence, _ *observed.Look) { f.Spec.Requests.Abort = &api.AbortRequest{By: "ann"} }, "Recovering Aborted, "},
		"asked for by nobody any more":     {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.AskedBy = nil }, "Recovering HealedBeforeFence, "},
		"paused":                           {brake(observed.Brakes{Paused: true}), "Pending Paused, "},
		"stopped":                          {brake(observed.Brakes{Stopped: true}), "Pending Stopped, "},
		"a storm":                          {brake(observed.Brakes{Storm: true}), "Pending TooManyUnhealthy, "},
		"stricter policies, unmarked":      {brake(observed.Brakes{Stricter: true, Unmark: true, Why: api.DryRun}), "Recovering DryRun, "},
		"stricter, and our cordon stays":   {both(onlyCordoned, brake(observed.Brakes{Stricter: true, Unmark: true, Why: api.DryRun})), "Recovering DryRun, "},
		"no policy":                        {brake(observed.Brakes{Gone: true}), "Recovering PolicyDeleted, "},
		"other policies":                   {brake(observed.Brakes{Changed: true}), "Pending PolicyChanged, "},
		"brakes that nobody has looked at": {func(_ *api.NodeFence, s *observed.Look) { s.Brakes = observed.Brakes{} }, "Draining , "},
		"another Node":                     {func(_ *api.NodeFence, s *observed.Look) { s.Node.UID = "other" }, "Recovering NodeReplaced, "},
	})
}

func stamp(ago time.Duration) *api.Time {
	at := observed.StampOf(fencetest.Start.Add(time.Hour - ago))
	return &at
}

// TestADrainThatIsUnmarked says in MESSAGE that its taint is placed anew, and its story is not filled by
// that (S28). The first time it is no news.
func TestADrainThatIsUnmarked(t *testing.T) {
	for placed, want := range map[bool]string{
		true:  "our taint is not on the node, and is placed anew: until it is there the time of the drain does not count; 1 pods are left: a/p",
		false: "the node lives",
	} {
		st, act := alive(api.Draining, both(unmarked, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Placed.Taint, f.Status.Reason, f.Status.Message = placed, api.NodeDraining, "the node lives"
			f.Status.History = []api.HistoryEntry{{Phase: api.Draining, Reason: api.NodeDraining, Message: "the node lives"}}
		}))
		if act != fence.Isolate || st.Message != want || len(st.History) != 1 {
			t.Errorf("placed before: %v: %s, %d sentences, %q", placed, act, len(st.History), st.Message)
		}
	}
}

// TestADrainHoldsNoSlot: a slot of before is given back, and time at the gate does not count (S14).
func TestADrainHoldsNoSlot(t *testing.T) {
	was := fencetest.Start.Add(time.Hour - 2*time.Second)
	st, _ := alive(api.Pending, func(f *api.NodeFence, s *observed.Look) { s.MayDrain, s.Reserved = true, &was })
	if st.GivenBack == nil || !st.GivenBack.Time.Equal(was) || st.DecidedAt != nil || st.Phase.HoldsSlot() {
		t.Errorf("phase %s, given back %v, yes %v", st.Phase, st.GivenBack, st.DecidedAt)
	}
	st, _ = alive(api.Draining, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Drain.Spent.Duration, s.Brakes.Paused = 89*time.Second, true
	})
	if got := st.Drain.Spent.Duration; got != 90*time.Second || st.Drain.EndedAt != nil || st.Drain.CountedAt != nil {
		t.Errorf("a drain that is stopped took %s", got)
	}
}

// TestADrainIsToldOnce: its story has one sentence for each reason, and the end of a fence that was
// given up names what was left (S28).
func TestADrainIsToldOnce(t *testing.T) {
	st, _ := alive(api.Draining, func(f *api.NodeFence, s *observed.Look) {
		f.Status.History = []api.HistoryEntry{{Phase: api.Draining, Reason: api.DisruptionBudget, Message: "10 pods"}, {Phase: api.Draining, Reason: api.NodeDraining, Message: "x"}}
		s.Evicted = &observed.Evicted{Held: []string{"a/p: the disruption budget b"}}
	})
	if len(st.History) != 2 || !strings.Contains(st.Message, "a/p: the disruption budget b") || st.Drain.Left != st.Message {
		t.Errorf("%q, left %q, %d sentences", st.Message, st.Drain.Left, len(st.History))
	}
	st, _ = alive(api.Recovering, func(f *api.NodeFence, s *observed.Look) {
		ended(api.DrainGivenUp)(f, s)
		f.Status.Outcome, f.Status.Placed, s.Node.Taint, s.Finalizer = api.DrainTimedOut, api.Placed{}, false, false
		f.Status.Report, s.Report = &api.ReportRecord{Digest: "d"}, &observed.Report{Digest: "d"}
	})
	if st.Phase != api.Finished || !strings.Contains(st.Message, "pod a/p is left") {
		t.Errorf("%s: %s", st.Phase, st.Message)
	}
}

// TestARequestDoesNotGrowOldWhileItsNodeIsDrained: but for no longer (S17).
func TestARequestDoesNotGrowOldWhileItsNodeIsDrained(t *testing.T) {
	for took, want := range map[time.Duration]api.Phase{30 * time.Minute: api.Draining, time.Minute: api.Recovering} {
		st, _ := alive(api.Draining, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Drain.Timeout.Duration = time.Hour
			f.Status.Decision.AskedBy[0].JoinedAt, f.Status.Drain.Spent.Duration = *stamp(40 * time.Minute), took
		})
		if st.Phase != want {
			t.Errorf("drained for %s: %s %s", took, st.Phase, st.Reason)
		}
	}
}
