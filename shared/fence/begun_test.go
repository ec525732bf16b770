package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/policy"
)

// under is a fence in the middle of its way, and what its next look sees: the node is
// NotReady, its Lease stands still, and a slot is reserved.
func under(now time.Time, change func(*api.NodeFence, *observed.Look)) (*api.NodeFence, observed.Look) {
	at := observed.StampOf(now)
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "fence-1"}, Spec: fencetest.Spec().AsSpec(), Status: fencetest.Spec().In(api.NodeFenceStatus{})}
	f.Status.Decision.Settings.PerNode.CutsPerDay = 3
	opened := observed.StampOf(fencetest.Start)
	f.Status = api.NodeFenceStatus{Decision: f.Status.Decision,
		MinReaderVersion: api.Schema, FenceNumber: 1, Phase: api.Fencing, OpenedAt: &opened, PhaseSince: &at, DecidedAt: &at, BootIDBefore: "a",
		Placed: api.Placed{Taint: true}, Lease: api.LeaseRecord{Renewed: "r0", StillSince: &opened},
	}
	s := observed.Look{
		Me: "me", Node: observed.Node{Exists: true, UID: f.Status.Decision.NodeUID, BootID: "a", Taint: true, Conditions: []observed.Condition{{Type: "Ready", Status: "Unknown", Since: fencetest.Start}}},
		Lease: observed.Lease{Exists: true, Renewed: "r0", Renewal: fencetest.Renewal}, Brakes: observed.Brakes{Looked: true, Counted: true}, Finalizer: true, Left: &observed.Left{}, Reserved: &now,
	}
	change(f, &s)
	s.Node.OutOfService = s.Node.OutOfService || f.Status.Placed.OutOfService
	return f, s
}

// begunAt is a release that was begun, and done or not.
func begunAt(now time.Time, done bool) api.ReleaseRecord {
	at, end := observed.StampOf(now), observed.StampOf(now.Add(time.Hour))
	r := api.ReleaseRecord{StartedAt: &at, Deadline: &end, Batches: 1}
	if done {
		r.DoneAt = &at
	}
	return r
}

// TestAWordIsForNow: what a person asks for is carried out on the state that they
// speak of, or never. A machine that they said is off may have been switched on since.
func TestAWordIsForNow(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for phase, want := range map[api.Phase][2]bool{ // is a word to confirm, to retry, still waiting
		api.Pending: {true, false}, api.Probing: {true, false}, api.Isolating: {true, false}, api.Fencing: {false, false}, api.Failed: {true, false},
		api.Releasing: {}, api.PoweringOn: {}, api.Restoring: {}, api.Recovering: {}, api.Fenced: {},
	} {
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase = phase
			f.Status.Release = begunAt(now, true)
			confirms(f, fencetest.Start)
			silentTwice(f, now)
			f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}
		})
		st, _ := fence.Decide(f, s, now)
		got := [2]bool{!st.Answered(api.AskedConfirmOff, metav1.NewTime(fencetest.Start)), !st.Answered(api.AskedRetry, metav1.NewTime(fencetest.Start))}
		if got != want {
			t.Errorf("%s: waiting %v, want %v", phase, got, want)
		}
		if told := len(st.History) > 0; !told {
			t.Errorf("%s: nothing is told", phase)
		}
	}
}

// TestASecondWordCounts whatever the clocks of those who speak say (S30).
func TestASecondWordCounts(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	first, second := metav1.NewTime(fencetest.Start), metav1.NewTime(fencetest.Start.Add(-time.Minute))
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase, f.Status.Answers = api.Failed, done(api.AskedRetry, first)
		f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ben", At: second}
	})
	if st, _ := fence.Decide(f, s, now); st.Phase != api.Pending || !st.Answered(api.AskedRetry, second) {
		t.Errorf("%s, answered %v", st.Phase, st.Answers)
	}
}

// TestAnOffThatDoesNothingIsAborted: the device says on whatever it is told, and a
// person ends the fence: it gives its slot back, and the machine is seen on (S25, S27).
func TestAnOffThatDoesNothingIsAborted(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now)
		f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &at}, Cuts: 1, CutAt: &at, Cut: []int32{0}}
		f.Spec.Requests.Abort = &api.AbortRequest{By: "ann"}
		s.Deleting = true
	})
	for range 200 {
		if f.Status.Phase == api.Finished {
			return
		}
		if c := f.Status.NextLook; c != nil && c.After(now) {
			now = c.Time
		}
		now = now.Add(time.Millisecond)
		s.Node.Taint, s.Call = f.Status.Phase != api.Finished, nil
		var act fence.Action
		if f.Status, act = fence.Decide(f, s, now); act == fence.Undo {
			s.Node.Taint = false
			f.Status, act = fence.Decide(f, s, now)
		}
		switch act {
		case fence.Off, fence.On:
			t.Fatalf("it is told %s", act)
		case fence.Read:
			s.Call = &observed.CallResult{Call: api.CallRead, Power: "On", At: now}
			f.Status, _ = fence.Decide(f, s, now)
		case fence.WriteReport:
			s.Report = &observed.Report{Digest: f.Status.Report.Digest}
		case fence.DropFinalizer:
			s.Finalizer = false
		}
	}
	t.Errorf("it is still %s: %s", f.Status.Phase, f.Status.Message)
}

// TestWhatWasGivenUp: a person ends it, or begins it anew, and it has an end either way.
func TestWhatWasGivenUp(t *testing.T) {
	now := fencetest.Start.Add(72 * time.Hour)
	cut := observed.StampOf(fencetest.Start)
	abort := func(f *api.NodeFence, _ *observed.Look) { f.Spec.Requests.Abort = &api.AbortRequest{By: "ann"} }
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		phase  api.Phase
		reason api.Reason
	}{
		"ended: what we cut is switched on first (S25)": {func(f *api.NodeFence, s *observed.Look) { f.Status.Power.SwitchedByUs = true; abort(f, s) }, api.PoweringOn, api.Aborted},
		"ended: nothing is cut":                         {abort, api.Recovering, api.Aborted},
		"begun anew, and ended in front of the gate": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Power.SwitchedByUs = api.Pending, true
			abort(f, s)
		}, api.PoweringOn, api.Aborted},
		"begun anew: its cuts are days old (S26)": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase = api.Pending
			f.Status.Power.Cuts, f.Status.Power.CutAt = 3, &cut
		}, api.Isolating, api.Admitted},
		"begun anew: its cuts are of today": {func(f *api.NodeFence, _ *observed.Look) {
			at := observed.StampOf(now.Add(-time.Hour))
			f.Status.Phase = api.Pending
			f.Status.Power.Cuts, f.Status.Power.CutAt = 3, &at
		}, api.Pending, api.NodeFencedTooOften},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Phase = api.Failed
				c.change(f, s)
			})
			if st, _ := fence.Decide(f, s, now); st.Phase != c.phase || st.Reason != c.reason {
				t.Errorf("%s %s %s", st.Phase, st.Reason, st.Message)
			}
		})
	}
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase, f.Status.Release = api.Failed, begunAt(fencetest.Start, true)
		f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "ann"}
	})
	if st, _ := fence.Decide(f, s, now); st.Phase != api.Pending || st.Release.StartedAt != nil {
		t.Errorf("%s, with the release of the last pass: %v", st.Phase, st.Release.StartedAt != nil)
	}
}

// TestNoTaintWithoutAProof: the out-of-service taint stays on no machine that nobody
// sees off any more (S3, S4, S23).
func TestNoTaintWithoutAProof(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	unreachable := func(s *observed.Look) { s.Call = &observed.CallResult{Call: api.CallRead, Err: "unreachable", At: now} }
	owed := func(f *api.NodeFence, again time.Time) { // by a device that is asked again then
		f.Status.Decision.Devices = specs.Fabric().Decision.Devices
		r, at := api.RecordOf(&f.Status.Decision.Isolation()[0]), observed.StampOf(again)
		r.SwitchedByUs, r.NotBefore = true, &at
		f.Status.Isolation = []api.IsolationRecord{r}
	}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		phase  api.Phase
		act    fence.Action
	}{
		"it was given up": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Phase = api.Failed }, api.Failed, fence.ClearOutOfService},
		"it has rebooted": {func(_ *api.NodeFence, s *observed.Look) { s.Node.BootID = "b" }, api.Recovering, fence.None},
		"its Lease moves": {func(_ *api.NodeFence, s *observed.Look) {
			s.Lease.Renewed = "r1"
			s.Lease.StillSince = now.Add(time.Second)
		}, api.Recovering, fence.None},
		"it has rebooted, and access is owed": {func(f *api.NodeFence, s *observed.Look) { owed(f, now); s.Node.BootID = "b" }, api.Restoring, fence.None},
		"access is owed":                      {func(f *api.NodeFence, _ *observed.Look) { owed(f, now); f.Status.Phase = api.Restoring }, api.Restoring, fence.ClearOutOfService},
		"access is owed by a dead device": {func(f *api.NodeFence, _ *observed.Look) {
			owed(f, now.Add(time.Hour))
			f.Status.Phase = api.Restoring
		}, api.Restoring, fence.ClearOutOfService},
		"access is owed, and the taint is off": {func(f *api.NodeFence, s *observed.Look) {
			owed(f, now)
			f.Status.Phase, s.Cleared = api.Restoring, true
		}, api.Restoring, fence.Read},
		"the last try failed: not our cut": {func(f *api.NodeFence, s *observed.Look) { f.Status.Retries = 2; unreachable(s) }, api.Fencing, fence.None},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Placed.OutOfService, f.Status.Release = true, begunAt(now, false)
				c.change(f, s)
				if s.Call != nil {
					f.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, NotAfter: observed.StampOf(now.Add(time.Second))}
				}
			})
			if st, act := fence.Decide(f, s, now); st.Phase != c.phase || act != c.act {
				t.Errorf("%s %s, action %q: %s", st.Phase, st.Reason, act, st.Message)
			}
		})
	}
}

// TestAnothersOutOfServiceTaintIsLeft: with the value that ours has too (S22).
func TestAnothersOutOfServiceTaintIsLeft(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for theirs, ours := range map[bool]bool{true: false, false: true} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			at := observed.StampOf(now)
			f.Status.Phase, f.Status.Power.SwitchedByUs = api.Releasing, true
			f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: at, BootIDBefore: "a"}
			s.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1}
			s.Node.OutOfService = theirs
		})
		if st, act := fence.Decide(f, s, now); act != fence.Release || st.Placed.OutOfService != ours {
			t.Errorf("theirs %v: placed %v, action %q", theirs, st.Placed.OutOfService, act)
		}
	}
}

// TestOurOwnMachineIsNotCut, also where nodefence came to run on it after the gate (S13).
func TestOurOwnMachineIsNotCut(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}
		s.Self = true
	})
	if st, act := fence.Decide(f, s, now); act != fence.None || st.Power.SwitchedByUs || st.Reason != api.OwnMachine {
		t.Errorf("action %q, cut %v: %s", act, st.Power.SwitchedByUs, st.Message)
	}
}

// TestABrakeTakesTheSlot: what was admitted before a storm is decided anew after its
// cool-down (S15).
func TestABrakeTakesTheSlot(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, brakes := range map[string]observed.Brakes{
		"storm":  {Looked: true, Storm: true},
		"pause":  {Looked: true, Paused: true},
		"window": {Looked: true, Windows: []policy.Windows{{Policy: "p", Windows: []api.PauseWindowRule{fencetest.Window("00:00", 24*time.Hour, "")}}}},
	} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) { f.Status.Phase, s.Brakes = api.Isolating, brakes })
		given := *f.Status.DecidedAt
		st, _ := fence.Decide(f, s, now)
		if st.Phase != api.Pending || st.GivenBack == nil || !st.GivenBack.Time.Equal(given.Time) {
			t.Errorf("%s: %s, given back %v", name, st.Phase, st.GivenBack)
		}
		l := &api.FenceLedger{}
		l.Status.Reservations = []api.Reservation{{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: 1, At: given}}
		f.Status = st
		if broughtUpToDate(l, f, now.Add(time.Second)); admission.ReservedAt(l, f) != nil {
			t.Errorf("%s: it still has its slot", name)
		}
	}
}

// TestTheEndOfAnEarlierFence is when it ended, not when the next one began: by it the
// node's cuts of a day are counted.
func TestTheEndOfAnEarlierFence(t *testing.T) {
	now := fencetest.Start.Add(90 * 24 * time.Hour)
	ended := observed.StampOf(fencetest.Start.Add(time.Hour))
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.FenceNumber, f.Status.Decision.Settings.PerNode.CutsPerDay = 2, 1
		f.Status.Phase, f.Status.PhaseSince, f.Status.Power.Cuts = "", &ended, 1
	})
	st, _ := fence.Decide(f, s, now)
	if len(st.Past) != 1 || !st.Past[0].ClosedAt.Time.Equal(ended.Time) || st.Reason == api.NodeFencedTooOften {
		t.Errorf("%s: %+v", st.Reason, st.Past)
	}
}

// TestALeaseThatHasYetToMoveIsLookedForAtItsRenewal: a Node that turns Ready wakes its
// record, its Lease does not.
func TestALeaseThatHasYetToMoveIsLookedForAtItsRenewal(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for status, want := range map[string]time.Duration{"True": fencetest.Renewal, "False": facts.Resync} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase = api.Recovering
			s.Node.BootID, s.Node.Conditions[0].Status = "b", status
		})
		if st, _ := fence.Decide(f, s, now); st.Phase != api.Recovering || st.NextLook == nil || st.NextLook.Sub(now) != want {
			t.Errorf("Ready=%s: %s, looked at again at %v, want in %s", status, st.Phase, st.NextLook, want)
		}
	}
}

// broughtUpToDate has the gate look at the ledger of a cluster with this fence, and begin
// nothing.
func broughtUpToDate(l *api.FenceLedger, f *api.NodeFence, now time.Time) {
	l.Spec.Stop = true
	admission.Admit(&api.NodeFence{}, admission.Picture{Fences: []api.NodeFence{*f}}, l, now)
	l.Spec.Stop = false
}
