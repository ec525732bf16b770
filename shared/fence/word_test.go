package fence_test

import (
	"strings"
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

// confirms has ann confirm that the machine is off.
func confirms(f *api.NodeFence, at time.Time) {
	f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(at)}}
}

// readTwice has each power device read so twice, ten seconds apart, for the word that stands in the
// record.
func readTwice(f *api.NodeFence, now time.Time, first, last api.PowerState) {
	r := &api.ConfirmReads{At: api.AnswerAt(f.Spec.Requests.ConfirmOff.At)}
	for _, b := range f.Status.Decision.PowerLevels() {
		r.Devices = append(r.Devices, api.ConfirmRead{Device: b.Words(),
			First: &api.Read{State: first, At: observed.StampOf(now.Add(-11 * time.Second))},
			Last:  &api.Read{State: last, At: observed.StampOf(now.Add(-time.Second))},
		})
	}
	f.Status.ConfirmReads = r
}

func silentTwice(f *api.NodeFence, now time.Time) {
	readTwice(f, now, api.PowerUnknown, api.PowerUnknown)
}

// TestNoWordIsBelievedAgainstAFreshReadOfOn: the machine's own device has read on half a second ago,
// and its node is partitioned: its Lease stands still. A person's word is refused (S1, S2).
func TestNoWordIsBelievedAgainstAFreshReadOfOn(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(now.Add(-500 * time.Millisecond))}
		confirms(f, now.Add(-time.Second))
	})
	st, act := fence.Decide(f, s, now)
	if st.Proof != nil || act != fence.None || st.Phase != api.Pending || st.Reason != api.MachineReadOn {
		t.Errorf("phase %s, reason %s, action %q, proof %+v", st.Phase, st.Reason, act, st.Proof)
	}
	a := st.Answer(api.AskedConfirmOff)
	if a == nil || a.Result != api.Refused || !strings.Contains(a.Message, "mem n read on at 2026-01-01T00:59:59Z: the machine is not off. Have nodefence cut its power") || !strings.Contains(a.Message, "mend the binding") {
		t.Errorf("answered %+v", a)
	}
}

// word is one fence in Fencing, whose machine has two devices, that a person's word is about.
type word struct {
	t   *testing.T
	f   *api.NodeFence
	s   observed.Look
	now time.Time
	act fence.Action
}

// ofTwoLevels is a fence of a machine with two power devices, for which ann says that it is off.
func ofTwoLevels(t *testing.T, change func(*api.NodeFence, *observed.Look)) *word {
	w := &word{t: t, now: fencetest.Start.Add(time.Hour)}
	w.f, w.s = under(w.now, func(f *api.NodeFence, s *observed.Look) {
		fencetest.Powered(&f.Status.Decision, specs.Levels().Decision.Devices...)
		confirms(f, w.now)
		if change != nil {
			change(f, s)
		}
	})
	return w
}

// look decides so long after the last look, by whom or what a call gave.
func (w *word) look(after time.Duration, call *observed.CallResult) {
	w.t.Helper()
	w.now = w.now.Add(after)
	w.s.Call, w.s.Reserved = call, &w.now
	if call != nil {
		if w.f.Status.Claim == nil {
			w.t.Fatalf("no call is claimed: %s %s (%s)", w.f.Status.Phase, w.f.Status.Reason, w.f.Status.Message)
		}
		call.Call, call.At = w.f.Status.Claim.Call, w.now
	}
	w.f.Status, w.act = fence.Decide(w.f, w.s, w.now)
}

// due is how long until the next look is due.
func (w *word) due() time.Duration {
	if n := w.f.Status.NextLook; n != nil {
		return max(0, n.Sub(w.now))
	}
	return 0
}

// reads looks until the next call to a device is claimed, which must be a read of this one, and gives it an end.
func (w *word) reads(device string, end observed.CallResult) {
	w.t.Helper()
	for n := 0; w.act != fence.Read && n < 5; n++ {
		w.look(w.due(), nil)
	}
	if c := w.f.Status.Claim; w.act != fence.Read || c == nil || c.Device != device {
		w.t.Fatalf("%q of %+v instead of a read of %s: %s %s (%s)", w.act, c, device, w.f.Status.Phase, w.f.Status.Reason, w.f.Status.Message)
	}
	w.look(time.Second, &end)
}

func (w *word) stands(phase api.Phase, why api.Reason, says string) {
	w.t.Helper()
	st := &w.f.Status
	if st.Phase != phase || st.Reason != why || !strings.Contains(st.Message, says) {
		w.t.Errorf("%s %s (%s), want %s %s (%s)", st.Phase, st.Reason, st.Message, phase, why, says)
	}
}

var noAnswer = observed.CallResult{Err: "no route to host"}

// TestEachDeviceIsReadTwiceBeforeAWordCounts: a word is the proof once no level has answered in two
// reads, a settle apart (S1, S2).
func TestEachDeviceIsReadTwiceBeforeAWordCounts(t *testing.T) {
	w := ofTwoLevels(t, nil)
	w.reads("power-1", noAnswer)
	w.stands(api.Fencing, api.ReadingDevices, "ann confirmed that the machine is off; its devices are read first, twice each: mem n gave no answer at 2026-01-01T01:00:01Z (no route to host), mem m is not read yet")
	w.reads("power-2", noAnswer)
	first := w.now
	if w.act != fence.None || w.f.Status.Proof != nil {
		t.Errorf("one silent read is no licence: %s, %+v", w.act, w.f.Status.Proof)
	}
	w.look(time.Second, nil)
	if w.act != fence.None {
		t.Errorf("read again after a second: %s", w.act)
	}
	w.reads("power-1", noAnswer)
	w.reads("power-2", noAnswer)
	w.stands(api.Releasing, api.ConfirmedOff, "ann confirmed that the machine is off; no device reads on: mem n gave no answer at")
	if apart := w.now.Sub(first); apart < fencetest.Lead {
		t.Errorf("read twice within %s", apart)
	}
	p := w.f.Status.Proof
	if d := cmp.Diff([]any{api.ProofConfirmed, "ann", (*api.ConfirmReads)(nil)}, []any{p.Type, p.By, w.f.Status.ConfirmReads}); d != "" {
		t.Error(d)
	}
	if a := w.f.Status.Answer(api.AskedConfirmOff); a.Result != api.Done {
		t.Errorf("answered %+v", a)
	}
}

// TestAWordIsRefusedByAnyDeviceThatReadsOn, whatever the others say, and whichever of the reads it is.
func TestAWordIsRefusedByAnyDeviceThatReadsOn(t *testing.T) {
	on := observed.CallResult{Power: "On"}
	for name, ends := range map[string][]observed.CallResult{
		"the first at once":          {on},
		"the second":                 {noAnswer, on},
		"the first, once it answers": {noAnswer, noAnswer, on},
		"the second, at last":        {{Power: "Off"}, noAnswer, {Power: "Off"}, on},
	} {
		t.Run(name, func(t *testing.T) {
			w := ofTwoLevels(t, nil)
			for i, end := range ends {
				w.reads([]string{"power-1", "power-2"}[i%2], end)
			}
			w.stands(api.Pending, api.MachineReadOn, "ann's confirmation that the machine is off is refused: mem "+[]string{"m", "n"}[len(ends)%2]+" read on at")
			st := &w.f.Status
			if st.Proof != nil || st.ConfirmReads != nil || st.DecidedAt != nil || st.Answer(api.AskedConfirmOff).Result != api.Refused {
				t.Errorf("proof %+v, reads %+v, decided %v, answers %+v", st.Proof, st.ConfirmReads, st.DecidedAt, st.Answers)
			}
		})
	}
}

// TestAReadOfOnThatIsOldIsMadeAgain: it refuses nothing by itself.
func TestAReadOfOnThatIsOldIsMadeAgain(t *testing.T) {
	w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(fencetest.Start.Add(30 * time.Minute))}
	})
	w.reads("power-1", noAnswer)
	w.stands(api.Fencing, api.ReadingDevices, "mem n gave no answer")
}

// TestAnswersThatAreNoReadOfTheMachine let a word count, and are said: they are no sign of life either.
func TestAnswersThatAreNoReadOfTheMachine(t *testing.T) {
	for says, end := range map[string]observed.CallResult{
		"another machine answers, mend the address": {Err: "another machine answers, mend the address", Wrong: true, Power: "On", Identity: "eight"},
		"it answers for machine eight, bound is":    {Wrong: true, Identity: "eight"},
		"login refused":                             {Err: "login refused", Denied: true, Why: api.DeviceDenied},
		"gave no answer":                            {},
	} {
		t.Run(says, func(t *testing.T) {
			w := ofTwoLevels(t, nil)
			for range 2 {
				w.reads("power-1", end)
				w.reads("power-2", end)
			}
			w.stands(api.Releasing, api.ConfirmedOff, says)
		})
	}
}

// TestADeviceThatRefusesTheAccountIsLeftAlone while a word waits: more refusals might lock the account.
func TestADeviceThatRefusesTheAccountIsLeftAlone(t *testing.T) {
	w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Power.Denied = []api.Denied{{Device: "mem m", Count: 3, At: observed.StampOf(fencetest.Start.Add(time.Hour - time.Second))}}
	})
	w.reads("power-1", noAnswer)
	w.reads("power-1", noAnswer)
	w.stands(api.Releasing, api.ConfirmedOff, "mem m refuses the account")
}

// TestAWordWaitsForAMachineThatGoesDown: it has answered, and is not off yet.
func TestAWordWaitsForAMachineThatGoesDown(t *testing.T) {
	w := ofTwoLevels(t, nil)
	w.reads("power-1", noAnswer)
	w.reads("power-2", noAnswer)
	w.reads("power-1", observed.CallResult{Stopping: true})
	w.reads("power-2", noAnswer)
	w.reads("power-1", noAnswer)
	w.stands(api.Fencing, api.ReadingDevices, "")
	w.reads("power-1", noAnswer)
	w.stands(api.Releasing, api.ConfirmedOff, "")
}

// TestAWordBesideReadsOfOff: what the devices say is the better proof, which is made anew for each batch.
func TestAWordBesideReadsOfOff(t *testing.T) {
	off := observed.CallResult{Power: "Off", Identity: "n"}
	w := ofTwoLevels(t, nil)
	w.reads("power-1", off)
	first := w.now
	w.reads("power-2", noAnswer)
	w.reads("power-1", off)
	second := w.now
	w.reads("power-2", noAnswer)
	w.stands(api.Releasing, api.SeenOff, "ann confirmed that the machine is off, and its device says so: mem n read off at")
	read := func(at time.Time) api.Read {
		return api.Read{State: api.PoweredOff, Identity: "n", At: observed.StampOf(at)}
	}
	if d := cmp.Diff([]api.Read{read(first), read(second)}, w.f.Status.Proof.Reads); d != "" {
		t.Error(d)
	}
	if a := w.f.Status.Answer(api.AskedConfirmOff); a.Result != api.Done {
		t.Errorf("answered %+v", a)
	}
}

// TestAWordOutlivesAProcess: the first silent read stands in the record, a read whose end nobody
// reported counts for nothing, and a word that is taken back leaves nothing (S7).
func TestAWordOutlivesAProcess(t *testing.T) {
	w := ofTwoLevels(t, nil)
	w.reads("power-1", noAnswer)
	w.reads("power-2", noAnswer)
	before := w.f.Status.ConfirmReads.DeepCopy()
	w.s.Me = "another"
	w.look(10*time.Second, nil)
	if w.act != fence.Read {
		t.Fatalf("%s %s (%s)", w.act, w.f.Status.Reason, w.f.Status.Message)
	}
	w.s.Me = "a third" // whoever claimed the read is dead
	w.look(time.Minute, nil)
	if d := cmp.Diff(before, w.f.Status.ConfirmReads); d != "" {
		t.Errorf("a lost read counts:\n%s", d)
	}
	if w.f.Status.Power.Level != 0 || w.f.Status.Proof != nil {
		t.Errorf("level %d, proof %+v", w.f.Status.Power.Level, w.f.Status.Proof)
	}
	w.f.Spec.Requests.ConfirmOff = nil
	w.look(time.Minute, nil)
	if w.f.Status.ConfirmReads != nil {
		t.Errorf("what was read for a word that is taken back stays: %+v", w.f.Status.ConfirmReads)
	}
}

// TestAReadForAWordIsOfItsOwnDevice: what another level said for a word that was taken back is no read
// of the level that is spoken with (S3).
func TestAReadForAWordIsOfItsOwnDevice(t *testing.T) {
	w := ofTwoLevels(t, nil)
	w.reads("power-1", noAnswer)
	for w.act != fence.Read {
		w.look(w.due(), nil)
	}
	was := w.f.Status.Power.LastRead.DeepCopy()
	w.f.Spec.Requests.ConfirmOff = nil
	w.look(time.Second, &observed.CallResult{Power: "Off"})
	if d := cmp.Diff([]any{was, (*api.Read)(nil)}, []any{w.f.Status.Power.LastRead, w.f.Status.Power.FirstOff}); d != "" {
		t.Error(d)
	}
}

// TestWhatEndsAFenceComesBeforeReadsForAWord: a brake, an abort and an old yes hold them as they hold
// any other step, and the word waits (S17, S25).
func TestWhatEndsAFenceComesBeforeReadsForAWord(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Reason
	}{
		"a pause":    {func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }, api.Paused},
		"a stop":     {func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Stopped = true }, api.Stopped},
		"an abort":   {func(f *api.NodeFence, _ *observed.Look) { f.Spec.Requests.Abort = &api.AbortRequest{By: "ben"} }, api.Aborted},
		"an old yes": {func(f *api.NodeFence, _ *observed.Look) { f.Status.DecidedAt = f.Status.OpenedAt }, api.DecisionExpired},
	} {
		t.Run(name, func(t *testing.T) {
			w := ofTwoLevels(t, c.change)
			w.look(0, nil)
			if w.act != fence.None || w.f.Status.Reason != c.want || w.f.Status.Answered(api.AskedConfirmOff, w.f.Spec.Requests.ConfirmOff.At) {
				t.Errorf("%q, %s %s (%s)", w.act, w.f.Status.Phase, w.f.Status.Reason, w.f.Status.Message)
			}
		})
	}
}

// TestAWordIsReadForUnderEachAction: also where the policy has no device read for itself. There the
// word alone is the proof. Without a device there is nothing to be read.
func TestAWordIsReadForUnderEachAction(t *testing.T) {
	for name, c := range map[string]struct {
		action  api.FenceAction
		devices bool
		reads   api.PowerState
		want    api.Reason
	}{
		"Isolate":                     {api.ActionIsolate, true, "", api.ReadingDevices},
		"Isolate, silent":             {api.ActionIsolate, true, api.PowerUnknown, api.ConfirmedOff},
		"Isolate, off":                {api.ActionIsolate, true, api.PoweredOff, api.ConfirmedOff},
		"Isolate, nothing bound":      {api.ActionIsolate, false, "", api.ConfirmedOff},
		"WaitForOff":                  {api.ActionWaitForOff, true, "", api.ReadingDevices},
		"WaitForOff, off":             {api.ActionWaitForOff, true, api.PoweredOff, api.SeenOff},
		"WaitForOff, nothing bound":   {api.ActionWaitForOff, false, "", api.ConfirmedOff},
		"Reboot, nothing bound":       {api.ActionReboot, false, "", api.ConfirmedOff},
		"Reboot, silent":              {api.ActionReboot, true, api.PowerUnknown, api.ConfirmedOff},
		"Reboot, only storage is cut": {api.ActionReboot, false, "", api.ConfirmedOff},
	} {
		t.Run(name, func(t *testing.T) {
			w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) {
				f.Status.Decision.Settings.Action = c.action
				if !c.devices {
					f.Status.Decision.Devices = nil
				}
				if strings.Contains(name, "storage") {
					cut := specs.Cut().Decision
					f.Status.Decision.Devices = cut.Isolation()
				}
				if c.reads != "" {
					readTwice(f, fencetest.Start.Add(time.Hour), c.reads, c.reads)
				}
			})
			w.look(0, nil)
			w.stands(w.f.Status.Phase, c.want, "")
		})
	}
}

// TestTheGateBindsDevicesForAWord: it asks for the devices as they are bound now before a slot, whatever
// the action.
func TestTheGateBindsDevicesForAWord(t *testing.T) {
	for _, action := range []api.FenceAction{api.ActionIsolate, api.ActionReboot, api.ActionWaitForOff} {
		w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Phase, f.Status.Decision.Settings.Action, f.Status.Decision.Devices = api.Pending, action, nil
		})
		w.s.Reserved = nil
		w.f.Status, w.act = fence.Decide(w.f, w.s, w.now)
		if w.act != fence.Resolve {
			t.Errorf("%s: %q, %s (%s)", action, w.act, w.f.Status.Reason, w.f.Status.Message)
		}
	}
}

// TestARefusedWordLeavesNoMarks on a node whose machine must be read off before it is marked (S22).
func TestARefusedWordLeavesNoMarks(t *testing.T) {
	w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Action = api.ActionWaitForOff })
	w.reads("power-1", observed.CallResult{Power: "On"})
	w.stands(api.Recovering, api.MachineReadOn, "mem n read on at")
	if w.f.Status.Outcome != api.SentBack {
		t.Errorf("outcome %q", w.f.Status.Outcome)
	}
}

// TestARefusedWordStopsNothingThatHasBegun: the Off was sent, and the fence goes on as ever (S25).
func TestARefusedWordStopsNothingThatHasBegun(t *testing.T) {
	at := observed.StampOf(fencetest.Start.Add(time.Hour))
	w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Power.SwitchedByUs, f.Status.Power.OffAt, f.Status.Power.CutAt, f.Status.CutOrReleased, f.Status.Power.Cut = true, &at, &at, true, []int32{0}
	})
	w.reads("power-1", noAnswer)
	w.reads("power-2", observed.CallResult{Power: "On"})
	w.stands(api.Fencing, api.MachineReadOn, "mem m read on at")
	w.look(time.Second, nil)
	if w.act != fence.Read || w.f.Status.Claim.Device != "power-1" || !w.f.Status.Power.SwitchedByUs {
		t.Errorf("%q, %+v", w.act, w.f.Status.Claim)
	}
}

// TestAWordIsNoApproval: whatever refutes it later, no power is cut that nobody approved (S17).
func TestAWordIsNoApproval(t *testing.T) {
	for approved, want := range map[bool]fence.Action{false: fence.None, true: fence.Off} {
		w := ofTwoLevels(t, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Mode = api.ModeRequireApproval
			f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: observed.StampOf(fencetest.Start.Add(time.Hour - time.Second))}
			f.Spec.Requests.ConfirmOff = nil
			if approved {
				f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ben", At: metav1.NewTime(fencetest.Start)}
			}
		})
		if w.look(0, nil); w.act != want || !approved && (w.f.Status.Phase != api.Pending || w.f.Status.DecidedAt != nil) {
			t.Errorf("approved %v: %q, %s %s", approved, w.act, w.f.Status.Phase, w.f.Status.Reason)
		}
	}
}
