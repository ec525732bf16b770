package fence_test

import (
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

// back is a fence whose node is back after nodefence has cut its power, and a look that sees the node.
func back(phase api.Phase, change func(*api.NodeFence, *observed.Look)) (*api.NodeFence, observed.Look) {
	then := observed.StampOf(fencetest.Start.Add(-time.Minute))
	return under(fencetest.Start, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Phase, f.Status.PhaseSince, f.Status.CutOrReleased = phase, &then, true
		f.Status.Lease = api.LeaseRecord{Renewed: "r0", StillSince: &then}
		f.Status.ProvenCut = &api.ProvenCut{FenceNumber: 1, NodeUID: f.Status.Decision.NodeUID, Device: "mem n", Level: 1, BootID: "a", Heartbeat: "h0", HeartbeatSince: "h1", ProvenAt: then}
		s.Node.Conditions[0].Status, s.Node.Heartbeat, s.Lease.Renewed = "True", "h2", "r1"
		change(f, s)
	})
}

// TestTheBootIDRefutesACut: by a second status that the kubelet has written since the cut was proven, and by nothing else.
func TestTheBootIDRefutesACut(t *testing.T) {
	for name, c := range map[string]struct {
		change                func(*api.NodeFence, *observed.Look)
		wantRefuted, wantKept bool
	}{
		"the boot ID of before": {func(*api.NodeFence, *observed.Look) {}, true, false},
		"the kubelet is not well": {func(_ *api.NodeFence, s *observed.Look) {
			s.Node.Conditions[0].Status = "False"
		}, true, false},
		"another boot ID":        {func(_ *api.NodeFence, s *observed.Look) { s.Node.BootID = "b" }, false, false},
		"nodes that share it":    {func(_ *api.NodeFence, s *observed.Look) { s.Node.BootIDShared = true }, false, false},
		"the first status since": {func(f *api.NodeFence, _ *observed.Look) { f.Status.ProvenCut.HeartbeatSince = "" }, false, true},
		"the first status again": {func(_ *api.NodeFence, s *observed.Look) { s.Node.Heartbeat = "h1" }, false, true},
		"a status of before":     {func(_ *api.NodeFence, s *observed.Look) { s.Node.Heartbeat = "h0" }, false, true},
		"a controller's status":  {func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "Unknown" }, false, true},
		"no heartbeat":           {func(_ *api.NodeFence, s *observed.Look) { s.Node.Heartbeat = "" }, false, true},
		"a Node registered anew": {func(_ *api.NodeFence, s *observed.Look) { s.Node.UID = "uid-2" }, true, false},
		"another machine's Node": {func(_ *api.NodeFence, s *observed.Look) { s.Node.UID, s.Node.BootID = "uid-2", "b" }, false, true},
		"no cut was proven":      {func(f *api.NodeFence, _ *observed.Look) { f.Status.ProvenCut = nil }, false, false},
	} {
		for _, phase := range api.Phases {
			if phase == api.Finished {
				continue
			}
			f, seen := back(phase, c.change)
			if doubts, want := fence.Doubts(f, seen.Node), facts.JudgesCut(phase) && (c.wantRefuted || name == "nodes that share it" || name == "the first status since"); doubts != want {
				t.Errorf("%s, in %s: a look lists the Nodes: %v", name, phase, doubts)
			}
			st, _ := fence.Decide(f, seen, fencetest.Start)
			if !facts.JudgesCut(phase) {
				if st.Refuted != nil || (st.ProvenCut == nil) != (f.Status.ProvenCut == nil) && st.Phase == phase {
					t.Errorf("%s, in %s, where nobody lists Nodes: %+v", name, phase, st.Refuted)
				}
				continue
			}
			if (st.Refuted != nil) != c.wantRefuted || (st.ProvenCut != nil) != c.wantKept {
				t.Errorf("%s, in %s: refuted %+v, kept %+v", name, phase, st.Refuted, st.ProvenCut)
			}
			if armed := st.ProvenCut; name == "the first status since" && armed.HeartbeatSince != "h2" {
				t.Errorf("%s, in %s: kept %+v", name, phase, armed)
			}
			if r := st.Refuted; r != nil && (r.FenceNumber != 1 || r.Device != "mem n" || r.Level != 1 || r.BootID != "a") {
				t.Errorf("%s, in %s: %+v", name, phase, r)
			}
			if told := strings.Contains(story(st), "read off twice until"); told != c.wantRefuted {
				t.Errorf("%s, in %s: it is told: %v", name, phase, told)
			}
		}
	}
}

// TestAFenceWaitsForTheJudgmentOfItsCut: a node that is back under the boot ID from before the cut is free of our marks,
// and its record stays open until the kubelet's next status, for 8 minutes at most. No failure and no person waits.
func TestAFenceWaitsForTheJudgmentOfItsCut(t *testing.T) {
	ago := func(d time.Duration) *api.Time { return new(observed.StampOf(fencetest.Start.Add(-d))) }
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
		act    fence.Action
	}{
		"a status from before the cut": {func(_ *api.NodeFence, s *observed.Look) { s.Node.Heartbeat = "h0" }, api.Recovering, fence.None},
		"the first status since":       {func(f *api.NodeFence, _ *observed.Look) { f.Status.ProvenCut.HeartbeatSince = "" }, api.Recovering, fence.None},
		"the second status since":      {func(*api.NodeFence, *observed.Look) {}, api.Recovering, fence.WriteReport},
		"our taint is on the node":     {func(_ *api.NodeFence, s *observed.Look) { s.Node.Heartbeat, s.Node.Taint = "h1", true }, api.Recovering, fence.Undo},
		"another boot ID":              {func(_ *api.NodeFence, s *observed.Look) { s.Node.BootID = "b" }, api.Recovering, fence.WriteReport},
		"no heartbeat at all":          {func(_ *api.NodeFence, s *observed.Look) { s.Node.Heartbeat = "" }, api.Recovering, fence.WriteReport},
		"just before 8 minutes": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.ReadySince, s.Node.Heartbeat = ago(8*time.Minute-time.Second), "h1"
		}, api.Recovering, fence.None},
		"after 8 minutes": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.ReadySince, s.Node.Heartbeat = ago(8*time.Minute+time.Second), "h1"
		}, api.Recovering, fence.WriteReport},
		"the clock was set back": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.ReadySince, s.Node.Heartbeat = ago(-time.Hour), "h1"
		}, api.Recovering, fence.WriteReport},
		"the node fails again": {func(_ *api.NodeFence, s *observed.Look) {
			s.Node.Heartbeat, s.Node.Conditions[0].Status = "h1", "False"
		}, api.Recovering, fence.WriteReport},
		"its Lease stands still": {func(f *api.NodeFence, s *observed.Look) { s.Node.Heartbeat, s.Lease.Renewed = "h1", "r0" }, api.Recovering, fence.WriteReport},
		"a person ends the fence": {func(f *api.NodeFence, s *observed.Look) {
			f.Spec.Requests.Abort, s.Node.Heartbeat = &api.AbortRequest{By: "ann"}, "h1"
		}, api.Recovering, fence.WriteReport},
		"the record is deleted": {func(_ *api.NodeFence, s *observed.Look) { s.Deleting, s.Node.Heartbeat = true, "h1" }, api.Recovering, fence.WriteReport},
		"a Node registered anew": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Outcome, s.Node.UID, s.Node.Heartbeat = api.NodeReplaced, "uid-2", "h1"
		}, api.Recovering, fence.None},
		"the fence was called off": {func(f *api.NodeFence, s *observed.Look) { f.Status.Outcome, s.Node.Heartbeat = api.Aborted, "h1" }, api.Recovering, fence.WriteReport},
	} {
		f, seen := back(api.Recovering, func(f *api.NodeFence, s *observed.Look) {
			f.Status.Outcome, f.Status.ReadySince, s.Node.Taint, s.Finalizer = api.Recovered, ago(30*time.Second), false, false
			c.change(f, s)
		})
		st, act := fence.Decide(f, seen, fencetest.Start)
		if st.Phase != c.want || act != c.act {
			t.Errorf("%s: %s %s %q: %s", name, st.Phase, st.Outcome, act, st.Message)
		}
		if want := map[bool]api.Reason{true: api.CutRefuted, false: f.Status.Outcome}[name == "the second status since"]; st.Outcome != want {
			t.Errorf("%s: ends as %s", name, st.Outcome)
		}
		if waits := st.Phase == api.Recovering && act == fence.None; waits && (st.NextLook == nil || st.ProvenCut == nil || !strings.Contains(st.Message, "the next status of its kubelet shows")) {
			t.Errorf("%s: %s, next look %v", name, st.Message, st.NextLook)
		}
	}
}

// TestARefutedFenceReturnsToTheGate: a fence with a refutation waits for a boot only while the node shows life. At the
// gate a person's word that the machine is off is heard.
func TestARefutedFenceReturnsToTheGate(t *testing.T) {
	at := observed.StampOf(fencetest.Start.Add(-time.Minute))
	soon := observed.StampOf(fencetest.Start.Add(time.Minute))
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
	}{
		"no life":                  {func(*api.NodeFence, *observed.Look) {}, api.Pending},
		"its Lease moves":          {func(_ *api.NodeFence, s *observed.Look) { s.Lease.Renewed = "r1" }, api.Recovering},
		"no condition holds":       {func(_ *api.NodeFence, s *observed.Look) { s.Node.Conditions[0].Status = "True" }, api.Recovering},
		"an Off may come late":     {func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.EffectUntil = &soon }, api.Recovering},
		"a late Off may have come": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.OffAt = &at }, api.PoweringOn},
		"a word has released": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Proof = &api.Proof{Type: api.ProofConfirmed, At: at}
		}, api.Recovering},
		"nothing is refuted":    {func(f *api.NodeFence, _ *observed.Look) { f.Status.Refuted = nil }, api.Recovering},
		"the record is deleted": {func(_ *api.NodeFence, s *observed.Look) { s.Deleting = true }, api.Recovering},
		"the work was released once": {func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Release = api.ReleaseRecord{StartedAt: &at, DoneAt: &at}
		}, api.Pending},
	} {
		f, seen := back(api.Recovering, func(f *api.NodeFence, s *observed.Look) {
			f.Status.ProvenCut, f.Status.Refuted = nil, &api.Refutation{At: at, FenceNumber: 1, Device: "mem n", Level: 1, BootID: "a", ProvenAt: at}
			s.Node.Conditions[0].Status, s.Node.Heartbeat, s.Lease.Renewed = "Unknown", "h0", "r0"
			c.change(f, s)
		})
		st, _ := fence.Decide(f, seen, fencetest.Start)
		if st.Phase != c.want {
			t.Errorf("%s: %s %s: %s", name, st.Phase, st.Reason, st.Message)
		}
		if c.want != api.Pending {
			continue
		}
		f.Status = st
		confirmedBy("ann")(f)
		f.Spec.Requests.ConfirmOff.FenceNumber = 1
		st, _ = fence.Decide(f, seen, fencetest.Start)
		if a := st.Answer(api.AskedConfirmOff); a == nil || a.Result != api.Accepted || st.Reason == api.CutRefuted {
			t.Errorf("%s: the word is answered with %+v, and the fence is %s %s", name, a, st.Phase, st.Reason)
		}
	}
}

// TestWhatACutRestsOnIsKeptWithItsProof: the device, the boot ID and the heartbeat, and only of a machine that nodefence has
// switched off: a machine that was found off may have hibernated.
func TestWhatACutRestsOnIsKeptWithItsProof(t *testing.T) {
	for _, ours := range []bool{true, false} {
		first := api.Read{State: api.PoweredOff, At: observed.StampOf(fencetest.Start.Add(-10 * time.Second))}
		f, seen := under(fencetest.Start, func(f *api.NodeFence, s *observed.Look) {
			still(f)
			p := &f.Status.Power
			p.SwitchedByUs, p.FirstOff, p.LastRead = ours, &first, &first
			f.Status.Claim = &api.Claim{Holder: "me", Call: api.CallRead, Device: f.Status.Decision.Power(0).Name, At: first.At, NotAfter: observed.StampOf(fencetest.Start.Add(time.Minute))}
			s.Call = &observed.CallResult{Call: api.CallRead, Power: "Off", At: fencetest.Start}
			s.Node.Heartbeat = "h0"
		})
		st, _ := fence.Decide(f, seen, fencetest.Start)
		if st.Proof == nil || (st.ProvenCut != nil) != ours {
			t.Fatalf("switched by us %v: proof %+v, %+v", ours, st.Proof, st.ProvenCut)
		}
		if c := st.ProvenCut; ours && (c.FenceNumber != 1 || c.Device != "mem n" || c.Level != 1 || c.BootID != "a" || c.Heartbeat != "h0") {
			t.Errorf("%+v", c)
		}
		f.Status = st
		if next := fence.Opening(f, f.Status.Decision, fencetest.Start); (next.ProvenCut != nil) != ours {
			t.Errorf("the next fence forgets the cut")
		}
	}
}

// TestARefutedCutHoldsEachLaterFence, until a person's statement names it, or a person says that the machine is off.
func TestARefutedCutHoldsEachLaterFence(t *testing.T) {
	at, other := observed.StampOf(fencetest.Start.Add(-time.Hour)), observed.StampOf(fencetest.Start.Add(-2*time.Hour))
	for name, c := range map[string]struct {
		change func(*api.NodeFence)
		want   api.Reason
	}{
		"nobody has looked":          {func(*api.NodeFence) {}, api.CutRefuted},
		"another one is trusted":     {func(f *api.NodeFence) { f.Spec.Trust = &api.Trust{By: "ann", RefutedAt: other} }, api.CutRefuted},
		"it is trusted":              {func(f *api.NodeFence) { f.Spec.Trust = &api.Trust{By: "ann", Reason: "mended", RefutedAt: at} }, api.Admitted},
		"the policy reads no device": {func(f *api.NodeFence) { f.Status.Decision.Settings.Action = api.ActionIsolate }, api.Admitted},
		"a person says it is off":    {confirmedBy("ann"), api.Admitted},
		"a person has approved a cut": {func(f *api.NodeFence) {
			f.Spec.Requests.Approve = &api.Request{FenceNumber: 2, By: "ann", At: metav1.NewTime(fencetest.Start)}
		}, api.CutRefuted},
	} {
		f, seen := under(fencetest.Start, func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Refuted = &api.Refutation{At: at, FenceNumber: 1, Device: "mem n", Level: 1, BootID: "a", ProvenAt: at}
			f.Status.Phase, f.Status.Outcome = api.Finished, api.CutRefuted
		})
		f.Status = fence.Opening(f, f.Status.Decision, fencetest.Start)
		c.change(f)
		seen.Resolved, seen.Node.Taint = true, false
		st, act := fence.Decide(f, seen, fencetest.Start)
		if st.Reason != c.want || (st.Refuted == nil) != (name == "it is trusted") {
			t.Errorf("%s: %s %s: %s, %s; refuted %v", name, st.Phase, st.Reason, st.Message, act, st.Refuted)
		}
	}
}

func confirmedBy(who string) func(*api.NodeFence) {
	return func(f *api.NodeFence) {
		f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 2, By: who, At: metav1.NewTime(fencetest.Start)}}
	}
}

// TestARefutedCutEndsByAPersonsWord: the history has who trusts the device again, and why; the condition goes.
func TestARefutedCutEndsByAPersonsWord(t *testing.T) {
	at := observed.StampOf(fencetest.Start.Add(-time.Hour))
	f, seen := under(fencetest.Start, func(f *api.NodeFence, _ *observed.Look) {
		f.Status.Phase = api.Pending
		f.Status.Refuted = &api.Refutation{At: at, FenceNumber: 1, Device: "mem n", Level: 1, BootID: "a", ProvenAt: at}
	})
	f.Status, _ = fence.Decide(f, seen, fencetest.Start)
	if c := condition(f.Status, api.ConditionCutRefuted); c == nil || c.Status != metav1.ConditionTrue || c.Reason != string(api.CutRefuted) {
		t.Errorf("the condition is %+v", c)
	}
	f.Spec.Trust = &api.Trust{By: "ann", Reason: "its address was another's", RefutedAt: at}
	f.Status, _ = fence.Decide(f, seen, fencetest.Start)
	if c := condition(f.Status, api.ConditionCutRefuted); c != nil || f.Status.Refuted != nil {
		t.Errorf("it stands still: %+v", c)
	}
	if !strings.Contains(story(f.Status), "DeviceTrusted ann says that mem n may be believed again, after its cut in fence 1 was refuted: its address was another's") {
		t.Error(story(f.Status))
	}
}

// TestAWordIsNoReadOfARefutedDevice: the proof is the person's, though the device reads off twice.
func TestAWordIsNoReadOfARefutedDevice(t *testing.T) {
	at := observed.StampOf(fencetest.Start.Add(-time.Hour))
	for _, refuted := range []bool{true, false} {
		off := func(ago time.Duration) *api.Read {
			return &api.Read{State: api.PoweredOff, At: observed.StampOf(fencetest.Start.Add(-ago))}
		}
		f, seen := under(fencetest.Start, func(f *api.NodeFence, _ *observed.Look) {
			still(f)
			said := metav1.NewTime(fencetest.Start)
			f.Spec.Requests.ConfirmOff = &api.Confirmation{Request: api.Request{FenceNumber: 1, By: "ann", At: said}}
			f.Status.ConfirmReads = &api.ConfirmReads{At: api.AnswerAt(said), Devices: []api.ConfirmRead{{Device: "mem n", First: off(10 * time.Second), Last: off(0)}}}
			if refuted {
				f.Status.Refuted = &api.Refutation{At: at, FenceNumber: 1, Device: "mem n", Level: 1, BootID: "a", ProvenAt: at}
			}
		})
		want := map[bool]api.ProofKind{true: api.ProofConfirmed, false: api.ProofSeenOff}[refuted]
		if st, _ := fence.Decide(f, seen, fencetest.Start); st.Proof == nil || st.Proof.Type != want {
			t.Errorf("refuted %v: %s %s: %+v", refuted, st.Phase, st.Message, st.Proof)
		}
	}
}

// still is a Lease that has stood still for long.
func still(f *api.NodeFence) {
	then := observed.StampOf(fencetest.Start.Add(-time.Minute))
	f.Status.Lease.StillSince = &then
}

// story is the history in lines.
func story(st api.NodeFenceStatus) string {
	var lines []string
	for _, h := range st.History {
		lines = append(lines, string(h.Reason)+" "+h.Message)
	}
	return strings.Join(lines, "\n")
}

func condition(st api.NodeFenceStatus, typ string) *metav1.Condition {
	for i := range st.Conditions {
		if st.Conditions[i].Type == typ {
			return &st.Conditions[i]
		}
	}
	return nil
}
