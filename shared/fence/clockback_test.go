package fence_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The API server's clock was set back. What was stamped before is of the future now, and
// of unknown age: nothing is released, deleted, cut or begun on it (S3, S17, S30).

// backLooks are fences that rest on one stamp each, and how the next step on it shows.
var backLooks = map[string]struct {
	change func(f *api.NodeFence, s *observed.Look, stamp *api.Time)
	// near is the step on a stamp that another process's clock may have given, and far that
	// on one that no clock of now has given.
	near, far string
	// apart is by how much two API servers' clocks may differ here, if not by the slack.
	apart time.Duration
}{
	"the proof before a deletion of pods": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		f.Status.Phase, f.Status.Proof = api.Releasing, &api.Proof{Type: api.ProofSeenOff, At: *stamp, BootIDBefore: "a"}
		s.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}}
	}, "Releasing ReleaseStarted, Release", "Fencing ProofExpired, ", 0},
	"the proof, of a Node whose Lease stands still since a time ahead": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		still := observed.StampOf(stamp.Add(-55 * time.Second))
		f.Status.Phase, f.Status.Proof = api.Releasing, &api.Proof{Type: api.ProofSeenOff, At: *stamp, BootIDBefore: "a"}
		s.Left, f.Status.Lease.StillSince = &observed.Left{Delete: []observed.Pod{{Name: "p"}}}, &still
	}, "Releasing ReleaseStarted, Release", "Fencing ProofExpired, ", 0},
	"the proof before the Node is deleted": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) {
		released(f)
		f.Status.Proof.At = *stamp
	}, "Releasing NodeDeletionSent, DeleteNode", "Fencing ProofExpired, ", 0},
	"the mark on a Node that reports Ready, before it is deleted": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		released(f)
		f.Status.Release.MarkedAt, s.Node.Conditions[0].Status = stamp, "True"
	}, "Releasing NodeDeletionSent, DeleteNode", "Recovering SignOfLife, ", 0},
	"a person's word, of a Node whose Lease moves": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		f.Status.Phase, f.Status.Proof = api.Releasing, &api.Proof{Type: api.ProofConfirmed, At: *stamp, BootIDBefore: "a"}
		s.Left, s.Lease.Renewed, s.Lease.StillSince = &observed.Left{Delete: []observed.Pod{{Name: "p"}}}, "r1", backNow.Add(-5*time.Second)
	}, "Releasing ReleaseStarted, Release", "Pending FlowRestarted, ", 0},
	"two reads of a cut": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) {
		first := observed.StampOf(stamp.Add(-facts.Settle))
		cutBefore(f, first, *stamp)
	}, "Releasing SeenCutOff, ", "Isolating , Read", 0},
	"a read of on before the Off": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) {
		f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: *stamp}
	}, "Fencing PowerOffSent, Off", "Fencing , Read", 0},
	"the gate's yes": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) { f.Status.DecidedAt = stamp },
		"Fencing , Read", "Pending DecisionExpired, ", 0},
	"a reserved slot": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		f.Status.Phase, s.Reserved, s.Resolved = api.Pending, &stamp.Time, true
	}, "Isolating Admitted, ", "Pending , Reserve", 0},
	"a slot for the device's answer to a check": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		f.Status.Phase, s.Reserved, s.Resolved = api.Pending, &stamp.Time, true
		f.Status.Decision.Settings.ActivityChecks = specs.Device().Decision.Settings.ActivityChecks
		begun := observed.StampOf(backNow)
		f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: &begun, Since: &begun,
			Results: []api.CheckResult{{Check: facts.DeviceCheck(1)}}}}
	}, "Probing CheckingActivity, ", "Pending , Reserve", 0},
	"rounds of activity checks that failed": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		s.MayCheck = true
		f.Status.Phase, f.Status.Decision.Settings.ActivityChecks = api.Pending, specs.Activity().Decision.Settings.ActivityChecks
		f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 2, EndedAt: stamp}, Done: 2, Failed: 2, FailedAt: stamp}
	}, "Isolating Admitted, ", "Pending CheckingActivity, Check", 0},
	"a check that found the storage reachable": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		s.MayCheck = true
		f.Status.Phase, f.Status.Decision.Settings.StorageCheck = api.Pending, specs.Storage().Decision.Settings.StorageCheck
		f.Status.StorageCheck = &api.CheckRound{Number: 1, EndedAt: stamp, Results: []api.CheckResult{{Check: "tcp", Answer: api.AnswerActivity}}}
	}, "Isolating Admitted, ", "Pending CheckingActivity, Check", 0},
	"a request about a healthy node": {func(f *api.NodeFence, s *observed.Look, stamp *api.Time) {
		f.Status.Phase, f.Status.Decision.Trigger, f.Status.Decision.AskedBy = api.Pending, specs.Request().Decision.Trigger, specs.Request().Decision.AskedBy
		f.Status.Decision.AskedBy[0].JoinedAt, s.Node.Conditions[0].Status = *stamp, "True"
	}, "Isolating Admitted, ", "Recovering RequestExpired, ", facts.DecisionValidity},
	"this fence's cut": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) {
		f.Status.Phase, f.Status.Power.CutAt, f.Status.Power.Cuts = api.Pending, stamp, 3
	}, "Pending NodeFencedTooOften, ", "Pending NodeFencedTooOften, ", 0},
	"an earlier fence's cuts": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) {
		f.Status.Phase, f.Status.Past = api.Pending, []api.PastFence{{Cuts: 3, ClosedAt: *stamp}}
	}, "Pending NodeFencedTooOften, ", "Pending NodeFencedTooOften, ", 0},
	"an Off that was sent": {func(f *api.NodeFence, _ *observed.Look, stamp *api.Time) {
		at := observed.StampOf(backNow)
		f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{OffAt: stamp, LastRead: &api.Read{State: api.PoweredOn, At: at}, SwitchedByUs: true}, CutAt: stamp, Cuts: 1}
	}, "Fencing , Read", "Fencing , Read", 0},
}

var backNow = fencetest.Start.Add(time.Hour)

func TestClockSetBack(t *testing.T) { // S3, S17, S30
	for name, c := range backLooks {
		apart := cmp.Or(c.apart, observed.ClockSlack)
		for ahead, want := range map[time.Duration]string{0: c.near, apart: c.near, apart + time.Millisecond: c.far, 10 * time.Minute: c.far} {
			stamp := observed.StampOf(backNow.Add(ahead))
			f, s := under(backNow, func(f *api.NodeFence, s *observed.Look) { c.change(f, s, &stamp) })
			st, act := fence.Decide(f, s, backNow)
			if got := fmt.Sprintf("%s %s, %s", st.Phase, st.Reason, act); got != want {
				t.Errorf("%s, %s ahead: %s (%s), want %s", name, ahead, got, st.Message, want)
			}
		}
	}
}

// released is a fence whose release is done, and whose Node object is to go.
func released(f *api.NodeFence) {
	done := observed.StampOf(backNow)
	f.Status.Phase, f.Status.Decision.Settings = api.Releasing, specs.Gone().Decision.Settings
	f.Status.Reason, f.Status.Power.SwitchedByUs = api.Released, true
	f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, BootIDBefore: "a", At: done}
	f.Status.Release = api.ReleaseRecord{StartedAt: &done, DoneAt: &done}
}

// cutBefore is a fence whose storage device was read twice as cut off.
func cutBefore(f *api.NodeFence, first, last api.Time) {
	f.Status.Phase, f.Status.Decision.Devices = api.Isolating, specs.Cut().Decision.Devices
	r := api.RecordOf(&f.Status.Decision.Isolation()[0])
	r.FirstCut, r.LastRead = &api.Read{State: api.PoweredOff, At: first}, &api.Read{State: api.PoweredOff, At: last}
	f.Status.Isolation = []api.IsolationRecord{r}
}

// TestAFirstReadOfTheFutureIsReadAnew: of two reads the first is as old as a proof may be.
func TestAFirstReadOfTheFutureIsReadAnew(t *testing.T) { // S1, S3
	for ahead, kept := range map[time.Duration]bool{observed.ClockSlack: true, 10 * time.Minute: false} {
		f, s := under(backNow, func(f *api.NodeFence, _ *observed.Look) {
			cutBefore(f, observed.StampOf(backNow.Add(ahead)), observed.StampOf(backNow))
		})
		if st, act := fence.Decide(f, s, backNow); act != fence.Read || (st.Isolation[0].FirstCut != nil) != kept {
			t.Errorf("%s ahead: %s, the first read is kept: %v", ahead, act, st.Isolation[0].FirstCut != nil)
		}
	}
}

// TestTheLedgerCountsWhatIsOfTheFuture: a slot under which another gate may go on is kept,
// and what rates count counts on (S14).
func TestTheLedgerCountsWhatIsOfTheFuture(t *testing.T) {
	at := observed.StampOf(fencetest.Start.Add(10 * time.Minute))
	taken := api.Reservation{NodeName: "n1", FenceUID: "f1", FenceNumber: 1, At: at, CountedBy: []api.CountedBy{{Policy: "p"}}}
	for want, change := range map[api.Reason]func(*api.NodeFence, *admission.Picture, *api.FenceLedger){
		api.TooManyConcurrent: func(_ *api.NodeFence, c *admission.Picture, l *api.FenceLedger) {
			c.Fences = append(c.Fences, fencetest.Running("n1", "f1", api.Pending))
			l.Status.Reservations = append(l.Status.Reservations, taken)
		},
		api.TooManyInATime: func(f *api.NodeFence, _ *admission.Picture, l *api.FenceLedger) {
			f.Status.Decision.Limits[0].MaxRate = &api.ResolvedRate{Count: 1}
			f.Status.Decision.Limits[0].MaxRate.Period.Duration = time.Minute
			l.Status.Admitted = append(l.Status.Admitted, taken)
		},
		"": func(*api.NodeFence, *admission.Picture, *api.FenceLedger) {},
	} {
		f, c, l := fencetest.World(fencetest.Start)
		change(f, &c, l)
		if v := admission.Admit(f, c, l, fencetest.Start); fencetest.ReasonOf(v) != want {
			t.Errorf("want %q: %+v", want, v)
		}
	}
}

// TestAVerdictOfTheFutureIsAskedAnew: rounds that failed before the clock was set back are
// begun anew, and a Lease that moves since counts for life, also once the old time is
// reached (S3, S30).
func TestAVerdictOfTheFutureIsAskedAnew(t *testing.T) {
	stamp := observed.StampOf(backNow.Add(10 * time.Minute))
	f, s := under(backNow, func(f *api.NodeFence, s *observed.Look) {
		backLooks["rounds of activity checks that failed"].change(f, s, &stamp)
	})
	st, act := fence.Decide(f, s, backNow)
	a := st.ActivityChecks
	if act != fence.Check || a.StartedAt == nil || a.Since == nil || a.Since.After(backNow) || a.Number != 3 {
		t.Errorf("%s %s: %+v", st.Reason, act, a)
	}
}

// TestALeaseThatStandsStillSinceTheFuture stands still from now on (S30).
func TestALeaseThatStandsStillSinceTheFuture(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{observed.ClockSlack: observed.ClockSlack, 10 * time.Minute: 0} {
		still := observed.StampOf(backNow.Add(ahead))
		f, s := under(backNow, func(f *api.NodeFence, _ *observed.Look) { f.Status.Lease.StillSince = &still })
		if st, _ := fence.Decide(f, s, backNow); st.Lease.StillSince.Sub(backNow) != want {
			t.Errorf("%s ahead: it stands still since %s from now", ahead, st.Lease.StillSince.Sub(backNow))
		}
	}
}

// TestAReleaseOutlivesAClockThatIsSetBack: a Lease that stands still all the time is no sign of life.
// The proof is made anew, and the machine that we cut is switched on after that (S3, S25, S30).
func TestAReleaseOutlivesAClockThatIsSetBack(t *testing.T) {
	before := func(d time.Duration) time.Time { return backNow.Add(2*time.Minute - d) } // the clock was set back
	f, s := under(backNow, func(f *api.NodeFence, s *observed.Look) {
		still := observed.StampOf(before(time.Minute))
		f.Status.Phase, f.Status.Lease.StillSince, f.Status.Power.SwitchedByUs = api.Releasing, &still, true
		f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: observed.StampOf(before(5 * time.Second)), BootIDBefore: "a"}
		f.Status.Release, s.Left = begunAt(before(4*time.Second), false), &observed.Left{Delete: []observed.Pod{{Name: "p"}}}
	})
	for _, after := range []time.Duration{0, time.Second} {
		var act fence.Action
		f.Status, act = fence.Decide(f, s, backNow.Add(after))
		if f.Status.Phase != api.Fencing || !f.Status.Power.SwitchedByUs || act != map[time.Duration]fence.Action{time.Second: fence.Read}[after] {
			t.Errorf("after %s: %s %s (%s), %s, switched by us: %v", after, f.Status.Phase, f.Status.Reason, f.Status.Message, act, f.Status.Power.SwitchedByUs)
		}
	}
}
