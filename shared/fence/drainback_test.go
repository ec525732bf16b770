package fence_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// slotted has a slot, reserved a second ago.
func slotted(f *api.NodeFence, _ *observed.Look) { f.Status.DecidedAt = stamp(time.Second) }

func undrained(f *api.NodeFence, _ *observed.Look) { f.Status.Drain = nil }

// withdrawnSkip says that the request was withdrawn that wanted no drain.
func withdrawnSkip(f *api.NodeFence, _ *observed.Look) {
	f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: "1"}
	f.Status.Decision.AskedBy[0].Drain = api.DrainSkip
}

func leaseGone(_ *api.NodeFence, s *observed.Look) { s.Lease.Exists = false }

// TestANodeThatLivesGoesBackToBeDrained: until the first Off, whatever let its fence go on without a
// drain counts only while it is so (S17).
func TestANodeThatLivesGoesBackToBeDrained(t *testing.T) {
	cut := func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Power.SwitchedByUs, f.Status.CutOrReleased = true, true
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
	}{
		"it lives again, or another one asks now":    {undrained, api.Pending},
		"the wish for no drain was withdrawn":        {both(undrained, withdrawnSkip), api.Pending},
		"it is withdrawn, and the drain was skipped": {both(ended(api.DrainSkipped), withdrawnSkip), api.Pending},
		"the word that it is off was taken back":     {func(*api.NodeFence, *observed.Look) {}, api.Pending},
		"and the node is not Ready for a moment":     {notReady, api.Pending},
		"it had failed, and lives again":             {ended(api.DrainSilent), api.Pending},
		"it was given up, and lives":                 {ended(api.DrainGivenUp), api.Pending},
		"it is empty, and was unmarked":              {both(ended(api.DrainEmpty), unmarked), api.Pending},
		"it is empty":                                {ended(api.DrainEmpty), api.Fencing},
		"its time is over":                           {ended(api.DrainTimeIsOver), api.Fencing},
		"somebody wants no drain":                    {both(undrained, skips), api.Fencing},
		"it has failed":                              {both(undrained, silent), api.Fencing},
		"its drain was given up, and it has failed":  {both(ended(api.DrainGivenUp), silent), api.Fencing},
		"its power was cut":                          {both(undrained, cut), api.Fencing},
		"it was empty, was unmarked, and has died":   {both(both(ended(api.DrainEmpty), unmarked), dead), api.Fencing},
		"the wish is withdrawn, and it has died":     {both(both(ended(api.DrainSkipped), withdrawnSkip), dead), api.Fencing},
	} {
		st, act := alive(api.Fencing, both(slotted, c.change))
		if st.Phase != c.want || c.want == api.Pending && (act != fence.None || st.DecidedAt != nil || st.GivenBack == nil) {
			t.Errorf("%s: %s %s (%s), %s, yes %v", name, st.Phase, st.Reason, st.Message, act, st.DecidedAt)
		}
	}
}

// TestAccessIsNotCutBeforeADrain: what is cut in Isolating waits for it too, and from what has lost its
// access nothing is moved.
func TestAccessIsNotCutBeforeADrain(t *testing.T) {
	for name, c := range map[string]struct {
		phase, want api.Phase
		change      func(*api.NodeFence, *observed.Look)
	}{
		"it lives":                            {api.Isolating, api.Pending, undrained},
		"somebody wants no drain":             {api.Isolating, api.Isolating, both(undrained, skips)},
		"access was cut":                      {api.Isolating, api.Isolating, both(undrained, accessCut)},
		"access was cut, and it was given up": {api.Isolating, api.Restoring, both(ended(api.DrainGivenUp), accessCut)},
		"access was cut, and it waits":        {api.Pending, api.Pending, accessCut},
		"given up, and it waits":              {api.Pending, api.Restoring, both(ended(api.DrainGivenUp), accessCut)},
		"given up, and paused":                {api.Pending, api.Restoring, both(both(ended(api.DrainGivenUp), accessCut), paused)},
		"given up, and nobody approved yet":   {api.Pending, api.Restoring, both(both(ended(api.DrainGivenUp), accessCut), unapproved)},
		"given up, and cut too often":         {api.Isolating, api.Restoring, both(both(ended(api.DrainGivenUp), accessCut), cutOften)},
		"given up, cut too often, and waits":  {api.Pending, api.Restoring, both(both(ended(api.DrainGivenUp), accessCut), cutOften)},
		"given up, and it has failed":         {api.Isolating, api.Isolating, both(both(ended(api.DrainGivenUp), accessCut), silent)},
	} {
		var needs bool
		st, act := alive(c.phase, func(f *api.NodeFence, s *observed.Look) {
			slotted(f, s)
			f.Status.Decision.Devices = specs.Fabric().Decision.Devices
			c.change(f, s)
			needs = fence.Needs(f, s).Lease
		})
		if st.Phase != c.want || !needs || act == fence.AskDrain {
			t.Errorf("%s: %s %s (%s), %s, the Lease is looked at: %v", name, st.Phase, st.Reason, st.Message, act, needs)
		}
		if back := c.want == api.Restoring; back && (st.Outcome != api.SentBack || st.Restore == nil || st.Restore.Then != api.Recovering || st.DecidedAt != nil || act != fence.None) {
			t.Errorf("%s: outcome %s, then %+v, yes %v, %s", name, st.Outcome, st.Restore, st.DecidedAt, act)
		}
	}
}

// TestAnEmptyNodeIsNotMarkedAgainForItsCut: somebody has taken our taint off since, so that pods may have come.
// Where nothing is cut in Isolating, it is the only thing that is looked at there; of a node that has died too,
// the fence goes on.
func TestAnEmptyNodeIsNotMarkedAgainForItsCut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
		act    fence.Action
		lease  bool
	}{
		"it was unmarked":                       {both(ended(api.DrainEmpty), unmarked), api.Pending, fence.None, true},
		"it was unmarked, and has died":         {both(both(ended(api.DrainEmpty), unmarked), dead), api.Isolating, fence.Isolate, true},
		"it was not":                            {ended(api.DrainEmpty), api.Fencing, fence.None, true},
		"unmarked, and its time was over":       {both(ended(api.DrainTimeIsOver), unmarked), api.Isolating, fence.Isolate, false},
		"unmarked, and somebody wants no drain": {both(both(ended(api.DrainEmpty), unmarked), skips), api.Isolating, fence.Isolate, true},
		"it was never drained":                  {undrained, api.Fencing, fence.None, false},
	} {
		var lease bool
		st, act := alive(api.Isolating, func(f *api.NodeFence, s *observed.Look) {
			slotted(f, s)
			c.change(f, s)
			lease = fence.Needs(f, s).Lease
		})
		if st.Phase != c.want || act != c.act || lease != c.lease || c.want == api.Pending && st.DecidedAt != nil {
			t.Errorf("%s: %s %s (%s), %s, yes %v, the Lease is looked at: %v", name, st.Phase, st.Reason, st.Message, act, st.DecidedAt, lease)
		}
	}
}

func paused(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }

// unapproved is a fence that waits for a person's yes.
func unapproved(f *api.NodeFence, _ *observed.Look) {
	s := &f.Status.Decision.Settings
	s.Mode, s.ApprovalTimeout.Duration = api.ModeRequireApproval, time.Hour
}

// cutOften is one whose node was cut as often as a day allows.
func cutOften(f *api.NodeFence, _ *observed.Look) {
	f.Status.Past = []api.PastFence{{FenceNumber: 0, ClosedAt: *stamp(2 * time.Hour), Cuts: 3}}
}

// dead is a node that has failed, under a policy that asks for no Ready condition.
func dead(f *api.NodeFence, s *observed.Look) {
	silent(f, s)
	f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Deadlock", Status: "True"}}
}

// TestPowerIsDelayedWhereADrainsEndCountsNoMore: access was cut, the node lives again, and its taint was
// taken off. The delay begins with the taint that is placed anew.
func TestPowerIsDelayedWhereADrainsEndCountsNoMore(t *testing.T) {
	st, act := alive(api.Pending, both(both(ended(api.DrainSilent), unmarked), func(f *api.NodeFence, s *observed.Look) {
		f.Status.Decision.Devices = specs.Fabric().Decision.Devices
		f.Status.Decision.Settings.Isolation.PowerDelay.Duration = time.Hour
		accessCut(f, s)
	}))
	if st.Drain == nil || st.Drain.EndedAt == nil || act == fence.AskDrain {
		t.Errorf("%s %s (%s), %s, drain %+v: the delay runs once no drain goes on", st.Phase, st.Reason, st.Message, act, st.Drain)
	}
}

func accessCut(f *api.NodeFence, _ *observed.Look) {
	r := api.RecordOf(&f.Status.Decision.Isolation()[0])
	r.SwitchedByUs, r.OffAt = true, stamp(time.Minute)
	f.Status.Isolation = []api.IsolationRecord{r}
}

// TestAWordThatIsRefusedCutsNothing that was given up, or that nobody drained yet.
func TestAWordThatIsRefusedCutsNothing(t *testing.T) {
	for name, change := range map[string]func(*api.NodeFence, *observed.Look){
		"its drain was given up":                     ended(api.DrainGivenUp),
		"nobody drained it, and it is not Ready now": both(undrained, notReady),
		"and its Lease is gone since a moment":       both(undrained, leaseGone),
	} {
		st, act := alive(api.Fencing, both(both(slotted, confirmed), change))
		if a := st.Answer(api.AskedConfirmOff); st.Phase != api.Pending || act != fence.None || a == nil || a.Result != api.Refused {
			t.Errorf("%s: %s %s (%s), %s", name, st.Phase, st.Reason, st.Message, act)
		}
	}
}

// TestAnEndThatCountsNoMore: the drain goes on.
func TestAnEndThatCountsNoMore(t *testing.T) {
	policy := func(took time.Duration, d api.DrainTimeoutAction) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Drain = api.DrainSettings{Timeout: metav1.Duration{Duration: took}, OnTimeout: d}
		}
	}
	checkAlive(t, api.Pending, map[string]drainCase{
		"skipped, and nobody wants that any more":    {ended(api.DrainSkipped), "Pending , AskDrain"},
		"skipped, and somebody does":                 {both(ended(api.DrainSkipped), skips), "Pending , Reserve, ended Skipped"},
		"its time was over, and the policy gives up": {both(ended(api.DrainTimeIsOver), policy(5*time.Minute, api.DrainThenGiveUp)), "Pending , AskDrain"},
		"its time was over, and it has more":         {both(ended(api.DrainTimeIsOver), policy(6*time.Minute, api.DrainThenFence)), "Pending , AskDrain"},
		"its time was over, and it has less":         {both(ended(api.DrainTimeIsOver), policy(4*time.Minute, api.DrainThenFence)), "Pending , Reserve, ended TimedOut"},
	})
}

// onlyCordoned is a node from which somebody has taken our taint, and nothing else.
func onlyCordoned(f *api.NodeFence, s *observed.Look) {
	f.Status.Placed = api.Placed{Taint: true, Cordon: true}
	s.Node.Taint, s.Node.Cordoned, s.Node.CordonOurs = false, true, true
}

// TestWhatWasGivenUpIsGivenBack, also where the fence had gone on since and came back, and whatever of
// our marks somebody else has taken off (S22).
func TestWhatWasGivenUpIsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
	}{
		"our taint":      {func(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = true }, api.Recovering},
		"our cordon":     {onlyCordoned, api.Recovering},
		"our word":       {func(_ *api.NodeFence, s *observed.Look) { s.Node.ScaleDownOurs = true }, api.Recovering},
		"another cordon": {both(onlyCordoned, func(_ *api.NodeFence, s *observed.Look) { s.Node.CordonOurs = false }), api.Pending},
		"nothing":        {func(*api.NodeFence, *observed.Look) {}, api.Pending},
	} {
		st, act := alive(api.Pending, both(both(evidence, ended(api.DrainGivenUp)), c.change))
		if back := st.Outcome == api.SentBack; st.Phase != c.want || back != (c.want == api.Recovering) || act != fence.None {
			t.Errorf("with %s on the node: %s %s, %s", name, st.Phase, st.Outcome, act)
		}
	}
}

// TestADrainThatEndedInTheFuture: the clock was set back since. A slot that is reserved now counts (S30).
func TestADrainThatEndedInTheFuture(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	st, act := alive(api.Pending, both(ended(api.DrainEmpty), func(f *api.NodeFence, s *observed.Look) {
		f.Status.Drain.EndedAt, s.Reserved = stamp(-time.Hour), &now
	}))
	if st.Phase != api.Isolating || act != fence.None || !st.Drain.EndedAt.Equal(stamp(0)) {
		t.Errorf("%s %s, %s, ended at %v", st.Phase, st.Reason, act, st.Drain.EndedAt)
	}
}

// TestNoDrainBeginsLate: the gate's yes may have been saved so late that another node drains by now (S14, S17).
func TestNoDrainBeginsLate(t *testing.T) {
	for ago, want := range map[time.Duration]api.Phase{59 * time.Second: api.Draining, 61 * time.Second: api.Pending} {
		st, act := alive(api.Draining, func(f *api.NodeFence, _ *observed.Look) { f.Status.Drain.LetAt = stamp(ago) })
		if st.Phase != want || st.Drain.LetAt != nil || (act == fence.Evict) != (want == api.Draining) {
			t.Errorf("let %s ago: %s %s, %s, let at %v", ago, st.Phase, st.Reason, act, st.Drain.LetAt)
		}
	}
	if st, _ := alive(api.Pending, func(_ *api.NodeFence, s *observed.Look) { s.MayDrain = true }); !st.Drain.LetAt.Equal(stamp(0)) {
		t.Errorf("let at %v", st.Drain.LetAt)
	}
}

// TestHowLongAJoinedRequestCounts: a drain from before it came leaves it no more time (S17).
func TestHowLongAJoinedRequestCounts(t *testing.T) {
	given := both(evidence, func(f *api.NodeFence, s *observed.Look) {
		ended(api.DrainGivenUp)(f, s)
		f.Status.Drain.EndedAt, f.Status.Drain.Spent.Duration, s.Node.Taint = stamp(40*time.Minute), 5*time.Minute, false
	})
	checkAlive(t, api.Pending, map[string]drainCase{
		"14 minutes ago":                 {both(given, asks(14*time.Minute, "ann", "t", api.DrainSkip)), "Pending , Reserve, ended GivenUp"},
		"16 minutes ago":                 {both(given, asks(16*time.Minute, "ann", "t", api.DrainSkip)), "Pending DrainTimedOut, , ended GivenUp"},
		"16 minutes ago, to be drained":  {both(given, asks(16*time.Minute, "ann", "t", "")), "Pending DrainTimedOut, , ended GivenUp"},
		"16 minutes ago, a drain of now": {both(going, both(evidence, lateSkip)), "Pending , Reserve, ended Skipped"},
	})
}

// lateSkip came as the drain began, which has taken five minutes.
func lateSkip(f *api.NodeFence, s *observed.Look) {
	asks(16*time.Minute, "ann", "t", api.DrainSkip)(f, s)
	f.Status.Drain.Spent.Duration = 5 * time.Minute
}

// TestABelievedSourceThatAsksAgainAndAgain has the fence wait as a problem does: ended, it would be
// opened by the next event, and the node drained for ever.
func TestABelievedSourceThatAsksAgainAndAgain(t *testing.T) {
	for user, want := range map[string]api.Reason{"": api.SentBack, "ann": api.DrainTimedOut} {
		st, _ := alive(api.Draining, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.AskedBy[0].User = user
			f.Status.Drain.Spent.Duration, f.Status.Decision.Settings.Drain.OnTimeout = 5*time.Minute, api.DrainThenGiveUp
			f.Status.Drain.AskedAt = stamp(time.Minute)
		})
		if st.Phase != api.Recovering || st.Outcome != want {
			t.Errorf("asked for by %q: %s %s", user, st.Phase, st.Outcome)
		}
	}
}

// TestOnlyTheGateWritesWhatItDecided: what any other function saves has decision and number as they were,
// and no yes that was not there. Anything else is refused whole (infra/crd/requests.yaml), look for look,
// so that the fence would stand still for ever (S25, S27).
func TestOnlyTheGateWritesWhatItDecided(t *testing.T) {
	for _, phase := range api.Phases {
		var was api.NodeFenceStatus
		st, _ := alive(phase, func(f *api.NodeFence, s *observed.Look) {
			withdrawnSkip(f, s)
			f.Status.Proof, f.Status.Restore = &api.Proof{Type: api.ProofConfirmed}, &api.RestoreRecord{Then: api.Recovering}
			was = *f.Status.DeepCopy()
		})
		diff := cmp.Diff(was.Decision, st.Decision)
		told := slices.ContainsFunc(st.History, func(h api.HistoryEntry) bool { return h.Reason == api.RequestWithdrawn })
		if gate := phase == api.Pending; (diff != "") != gate || told != gate || st.FenceNumber != was.FenceNumber || st.DecidedAt != nil {
			t.Errorf("%s: number %d, yes %v, told of the withdrawal: %v, decision %s", phase, st.FenceNumber, st.DecidedAt, told, diff)
		}
	}
}
