package fence_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAFurtherOffAsksForTheReasonAgain: our first Off was lost or did nothing, and the
// node is healthy since (S17). What was asked for is tried again all the same.
func TestAFurtherOffAsksForTheReasonAgain(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
		act    fence.Action
	}{
		"healthy": {func(*api.NodeFence, *observed.Look) {}, api.Recovering, fence.None},
		"sick":    {func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "Unknown" }, api.Fencing, fence.Off},
		"Ready, its Lease still since": {func(f *api.NodeFence, s *observed.Look) {
			s.Lease.Renewed = f.Status.Lease.Renewed
		}, api.Fencing, fence.Off},
		"asked for": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Trigger, f.Status.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me"}}
		}, api.Fencing, fence.Off},
		"asked for, and withdrawn": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Trigger, f.Status.Decision.AskedBy = api.Trigger{Type: api.TriggerRequest}, []api.AskedBy{{ID: "1", Source: "/me"}}
			f.Annotations = map[string]string{api.WithdrawnAskersAnnotation: "1"}
		}, api.Recovering, fence.None},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				at := observed.StampOf(now.Add(-time.Minute))
				f.Status.PhaseSince = &at
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &at, LastRead: &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}}, Cuts: 1, OffCalls: 1, CutAt: &at, Cut: []int32{0}}
				f.Status.CutOrReleased = true
				s.Node.Conditions[0].Status, s.Lease.Renewed = "True", "r1"
			})
			c.change(f, &s)
			if st, act := fence.Decide(f, s, now); st.Phase != c.want || act != c.act {
				t.Errorf("%s, %s (%s)", st.Phase, act, st.Message)
			}
		})
	}
}

// TestAnOffInRecovery: what may be a late Off of ours is switched on again (S8); what
// somebody else switched off later stays off (S12).
func TestAnOffInRecovery(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		until time.Duration // what our Off may still do, when the node was healthy
		want  api.Phase
	}{
		"our Off may have been late":      {time.Minute, api.PoweringOn},
		"our Off had long had its effect": {-time.Minute, api.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				sent, since, until := observed.StampOf(now.Add(-5*time.Minute)), observed.StampOf(now.Add(-4*time.Minute)), observed.StampOf(now.Add(c.until))
				f.Status.Phase, f.Status.PhaseSince = api.Failed, &since
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, EffectUntil: &until}, Cuts: 1, CutAt: &sent, Cut: []int32{0}}
				s.Node.Conditions[0].Status, s.Lease.Renewed = "True", "r1"
			})
			f.Status, _ = fence.Decide(f, s, now)
			if f.Status.Phase != api.Recovering {
				t.Fatalf("%s: %s", f.Status.Phase, f.Status.Message)
			}
			s.Node.Conditions[0].Status = "Unknown"
			st, _ := fence.Decide(f, s, now.Add(time.Hour))
			if st.Phase != c.want {
				t.Errorf("%s: %s", st.Phase, st.Message)
			}
		})
	}
}

// TestAMachineThatWasHealthyIsAnothersToSwitchOff: it came back by our On, and is kept
// isolated for a person, who then works on it (S12).
func TestAMachineThatWasHealthyIsAnothersToSwitchOff(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		cut, on, since := observed.StampOf(now.Add(-9*time.Minute)), observed.StampOf(now.Add(-8*time.Minute)), observed.StampOf(now.Add(-7*time.Minute))
		f.Status.Decision.Settings.Recovery.Uncordon = api.UncordonManual
		f.Status.Phase, f.Status.PhaseSince, f.Status.CutOrReleased = api.Recovering, &since, true
		f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{OffAt: &cut, OnAt: &on, EffectUntil: &since}, Cuts: 1, CutAt: &cut, Cut: []int32{0}}
		s.Node.Conditions[0].Status, s.Lease.Renewed, s.Node.BootID, s.Node.Cordoned = "True", "r1", "b", true
	})
	f.Status, _ = fence.Decide(f, s, now)
	s.Lease.Renewed = "r2"
	if f.Status, _ = fence.Decide(f, s, now.Add(time.Minute)); f.Status.Reason != api.WaitingForUncordon {
		t.Fatalf("%s: %s", f.Status.Reason, f.Status.Message)
	}
	s.Node.Conditions[0].Status = "Unknown"
	if st, act := fence.Decide(f, s, now.Add(3*time.Hour)); st.Phase == api.PoweringOn || st.Power.SwitchedByUs || act.Device() {
		t.Errorf("%s, %s: %s", st.Phase, act, st.Message)
	}
}

// TestFencesWithoutACutDoNotPushOutThoseWithOne: a flapping node keeps its limit (S26).
func TestFencesWithoutACutDoNotPushOutThoseWithOne(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		at := observed.StampOf(now)
		f.Status.Phase, f.Status.Power = api.Finished, api.PowerRecord{Cuts: 3, CutAt: &at}
	})
	for range 2 * facts.MaxPast {
		f.Status.FenceNumber, f.Status.Phase = f.Status.FenceNumber+1, ""
		f.Status, _ = fence.Decide(f, s, now)
		at := observed.StampOf(now)
		f.Status.Phase, f.Status.PhaseSince = api.Finished, &at
	}
	f.Status.FenceNumber, f.Status.Phase = f.Status.FenceNumber+1, ""
	st, _ := fence.Decide(f, s, now)
	if st.Reason != api.NodeFencedTooOften || len(st.Past) != facts.MaxPast {
		t.Errorf("%s: %s; %d kept", st.Reason, st.Message, len(st.Past))
	}
	if st, _ = fence.Decide(f, s, now.Add(25*time.Hour)); st.Reason == api.NodeFencedTooOften {
		t.Errorf("a day later: %s", st.Message)
	}
}

// TestARefusedOffIsNotWaitedFor: the device said no, so the next try or level comes
// after the interval, and the record says what it said.
func TestARefusedOffIsNotWaitedFor(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct{ refused bool }{"refused": {true}, "failed in a way that may have done it": {false}} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				at := observed.StampOf(now)
				f.Status.Reason = api.PowerOffSent
				f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &at}, Cuts: 1, OffCalls: 1, CutAt: &at, Cut: []int32{0}}
				f.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallOff, At: at, NotAfter: observed.StampOf(now.Add(time.Minute))}
				s.Call = &observed.CallResult{Call: api.CallOff, At: now, Err: "device denied access: no right to power off", Refused: c.refused}
			})
			st, _ := fence.Decide(f, s, now)
			told := slices.ContainsFunc(st.History, func(h api.HistoryEntry) bool { return strings.Contains(h.Message, s.Call.Err) })
			if told != c.refused || (st.Power.OffAt == nil) != c.refused || st.Power.OffError != s.Call.Err {
				t.Errorf("told %v; waiting for its effect: %v, kept %q", told, st.Power.OffAt != nil, st.Power.OffError)
			}
		})
	}
}

// TestWhatIsOfTheFutureIsOld: the API server's clock was set back by more than two
// processes may differ (S3, S17, S30).
func TestWhatIsOfTheFutureIsOld(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for ahead, want := range map[time.Duration]api.Phase{time.Second: api.Releasing, 10 * time.Minute: api.Fencing} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase = api.Releasing
			f.Status.Power.SwitchedByUs = true
			f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: observed.StampOf(now.Add(ahead)), BootIDBefore: "a"}
			s.Left = &observed.Left{Delete: []observed.Pod{{Namespace: "x", Name: "y"}}}
		})
		if st, act := fence.Decide(f, s, now); st.Phase != want || (act == fence.Release) != (want == api.Releasing) {
			t.Errorf("a proof from %s ahead: %s, %s", ahead, st.Phase, act)
		}
	}
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		at := observed.StampOf(now.Add(10 * time.Minute))
		f.Status.DecidedAt = &at
	})
	if st, _ := fence.Decide(f, s, now); st.Reason != api.DecisionExpired {
		t.Errorf("a yes of the future: %s: %s", st.Reason, st.Message)
	}
}

// TestBatchesKeepAPause: pods that are made anew at once, and an out-of-service taint
// of another value, do not make a release spin.
func TestBatchesKeepAPause(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		foreign bool
		left    observed.Left
		want    int
	}{
		"pods made anew":       {false, observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1, Names: []string{"volume v"}}, 3},
		"another's taint":      {true, observed.Left{Attachments: 1, Names: []string{"volume v"}}, 1},
		"another's, with pods": {true, observed.Left{Delete: []observed.Pod{{Name: "p"}}, Attachments: 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Phase = api.Releasing
				f.Status.Decision.Settings.Release.Timeout.Duration = 5 * time.Minute
				f.Status.Power.SwitchedByUs = true
				f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: observed.StampOf(now), BootIDBefore: "a"}
				s.Left, s.Node.OutOfServiceForeign = &c.left, c.foreign
			})
			releases := 0
			for i := range 25 { // 2.4 s
				var act fence.Action
				if f.Status, act = fence.Decide(f, s, now.Add(time.Duration(i)*100*time.Millisecond)); act == fence.Release {
					releases++
				}
			}
			if releases != c.want || c.foreign && f.Status.Placed.OutOfService {
				t.Errorf("%d releases, want %d; ours placed: %v", releases, c.want, f.Status.Placed.OutOfService)
			}
		})
	}
}

// TestTheWordForTheAutoscalerGoesWithoutTheTaint: somebody else has removed our taint (S22).
func TestTheWordForTheAutoscalerGoesWithoutTheTaint(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Phase, f.Status.Outcome = api.Recovering, api.Recovered
		s.Node.Taint, s.Node.ScaleDownOurs = false, true
	})
	if _, act := fence.Decide(f, s, now); act != fence.Undo {
		t.Errorf("%s, want Undo", act)
	}
}

// TestADeletedRecordDoesNotWaitForARestoreToBeConfirmed (S27).
func TestADeletedRecordDoesNotWaitForARestoreToBeConfirmed(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for deleted, want := range map[bool]api.Phase{false: api.Releasing, true: api.Fenced} {
		f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Release = api.Releasing, begunAt(now, false)
			f.Status.Proof = &api.Proof{Type: api.ProofConfirmed, At: observed.StampOf(now), BootIDBefore: "a"}
			s.Deleting = deleted
			s.Left = &observed.Left{Attachments: 1, Names: []string{"volume v"}}
			s.Brakes = observed.Brakes{Looked: true, Stopped: true, Why: api.StateWentBack, Message: "the API server went back"}
		})
		if st, act := fence.Decide(f, s, now); st.Phase != want || act == fence.Release {
			t.Errorf("deleted %v: %s, %s (%s)", deleted, st.Phase, act, st.Message)
		}
	}
}

// TestLostCallsAreTries: a call that kills its process each time comes to an end, be it
// an Off to a machine that goes on, or a read (S26).
func TestLostCallsAreTries(t *testing.T) {
	for _, lost := range []api.Call{api.CallOff, api.CallRead} {
		now, offs := fencetest.Start.Add(time.Hour), 0
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Power.Attempts, f.Status.Decision.Settings.Power.Restarts, f.Status.Decision.Settings.PerNode.CutsPerDay = 3, 2, 1
		})
		for range 200 {
			st, act := fence.Decide(f, s, now)
			f.Status, s.Call = st, nil
			if act == fence.Off {
				offs++
			}
			if act == fence.Read && lost == api.CallOff {
				s.Call = &observed.CallResult{Call: api.CallRead, Power: "On", At: now}
			}
			if s.Call == nil && st.NextLook != nil && st.NextLook.After(now) {
				now = st.NextLook.Time
			}
			now = now.Add(time.Millisecond)
			s.Reserved = &now
		}
		if lost == api.CallOff && offs != 9 {
			t.Errorf("lost %s: %d Offs were sent, and three tries in each of three passes are allowed", lost, offs)
		}
		if lost == api.CallRead && f.Status.Phase != api.Failed {
			t.Errorf("lost Reads: %s (%s)", f.Status.Phase, f.Status.Message)
		}
	}
}

// TestAProofThatIsVoidWasATry: the device says off, the Lease moves before anything was
// released, and the device says on. An Off that did nothing is sent so often as a step
// is tried, and not for ever (S26).
func TestAProofThatIsVoidWasATry(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		at := observed.StampOf(now.Add(-time.Minute))
		f.Status.Decision.Settings.Power.Attempts = 3
		f.Status.Retries = 2
		f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: true, OffAt: &at}, Cuts: 1, CutAt: &at, Cut: []int32{0}, FirstOff: &api.Read{State: api.PoweredOff, At: observed.StampOf(now.Add(-10 * time.Second))}}
		f.Status.Claim = &api.Claim{Holder: "me", Device: "power-1", Call: api.CallRead, NotAfter: observed.StampOf(now.Add(time.Second))}
	})
	s.Call = &observed.CallResult{Call: api.CallRead, Power: "Off", At: now}
	f.Status, _ = fence.Decide(f, s, now)
	if f.Status.Phase != api.Releasing {
		t.Fatalf("%s (%s)", f.Status.Phase, f.Status.Message)
	}
	s.Call, s.Lease.Renewed = nil, "r1"
	now = now.Add(time.Second)
	if f.Status, _ = fence.Decide(f, s, now); f.Status.Restarts != 1 {
		t.Errorf("after the third try: %s, %d tries, %d restarts (%s)", f.Status.Phase, f.Status.Retries, f.Status.Restarts, f.Status.Message)
	}
}

// TestACutOfTheDayBeforeCountsNoMore, not with the next one either (S26).
func TestACutOfTheDayBeforeCountsNoMore(t *testing.T) {
	now := fencetest.Start.Add(100 * time.Hour)
	for ago, want := range map[time.Duration]int32{23 * time.Hour: 2, 25 * time.Hour: 1} {
		f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
			at := observed.StampOf(now.Add(-ago))
			f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{LastRead: &api.Read{State: api.PoweredOn, At: observed.StampOf(now)}}, Cuts: 1, CutAt: &at}
		})
		st, act := fence.Decide(f, s, now)
		if act != fence.Off || st.Power.Cuts != want {
			t.Errorf("the last cut was %s ago: %q, and %d cuts count, want %d", ago, act, st.Power.Cuts, want)
		}
	}
}
