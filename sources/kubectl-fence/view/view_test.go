package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *api.Time {
	t := metav1.NewMicroTime(start.Add(d))
	return &t
}

func node(name string, ready corev1.ConditionStatus) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": name[:1]}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	return n
}

func policyOf(name, pool string) api.FencePolicy {
	p := api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2}}
	p.Spec.Selector = &api.LabelSelector{MatchLabels: map[string]string{"pool": pool}}
	p.Spec.Mode, p.Spec.Action = api.ModeEnforce, api.ActionReboot
	p.Status.ObservedAt = at(0)
	return p
}

// fenceOf is an open fence.
func fenceOf(name string, phase api.Phase, reason api.Reason, message string) api.NodeFence {
	f := api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.NodeFenceSpec{NodeName: name}}
	st := &f.Status
	st.FenceNumber, st.Phase, st.Reason, st.Message = 3, phase, reason, message
	st.OpenedAt, st.PhaseSince, st.NextLook = at(-2*time.Minute), at(-time.Minute), at(12*time.Second)
	st.Decision.Policy.Name = "workers"
	st.Decision.Trigger = api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}}
	return f
}

// seen is a cluster in which every kind of row occurs.
func seen() Seen {
	s := Seen{Now: start, Ledger: &api.FenceLedger{}, Policies: []api.FencePolicy{policyOf("workers", "a")}}
	s.Ledger.Name = api.LedgerName
	s.Ledger.Status.Leases = api.LeasePicture{Since: at(-time.Hour), ObservedAt: at(-time.Second), Renewal: metav1.Duration{Duration: 10 * time.Second}, Total: 9}
	for _, n := range []string{"a1", "a2", "a3", "b1"} {
		s.Nodes = append(s.Nodes, node(n, corev1.ConditionTrue))
	}
	s.Nodes = append(s.Nodes, node("a4", corev1.ConditionUnknown), node("a5", corev1.ConditionUnknown))
	s.Policies[0].Status.Held = []api.HeldNode{{NodeName: "a5", Reason: api.TooManyUnhealthy, Message: "2 of 4"}}
	s.Fences = []api.NodeFence{fenceOf("a4", api.Fencing, api.PowerOffSent, "off sent"), fenceOf("gone", api.Releasing, api.WaitingForRelease, "1 pod"), fenceOf("a2", api.Finished, api.Recovered, "back")}
	s.Nodes = append(s.Nodes, node("c1", corev1.ConditionFalse), node("a6", corev1.ConditionUnknown), node("a7", corev1.ConditionUnknown))
	s.Fences = append(s.Fences, fenceOf("c1", api.Recovering, api.SeenOn, "on"))
	s.Fences = append(s.Fences, fenceOf("a6", api.Finished, api.Aborted, "by ann"))
	s.Fences[4].Status.Outcome = api.Aborted
	s.Fences[3].Status.Decision.Policy.Name = "deleted"
	s.Fences[2].Status.Outcome = api.Recovered
	s.Targets = []api.FenceTarget{{ObjectMeta: metav1.ObjectMeta{Name: "a3"}}}
	s.Targets[0].Status.Conditions = []metav1.Condition{{Type: api.Fenceable, Status: metav1.ConditionFalse, Reason: string(api.DeviceUnreachable), Message: "no answer"}}
	return s
}

// TestRows: every node under a policy has one line, and one without a policy has none unless it
// has a fence.
func TestRows(t *testing.T) {
	s := seen()
	var got []string
	for _, r := range s.Rows() {
		got = append(got, strings.Join([]string{r.Node, r.Ready, r.Policy, r.State, string(r.Reason), ago(s.Now, r.Since)}, " "))
	}
	want := []string{
		"a1 True workers Watched  ", "a2 True workers Watched  ", "a3 True workers NotFenceable DeviceUnreachable ",
		"a4 Unknown workers Fencing PowerOffSent 60s", "a5 Unknown workers Held TooManyUnhealthy ",
		"a6 Unknown workers Unfenced Aborted ", "a7 Unknown workers Unfenced  ",
		"c1 False deleted Recovering SeenOn 60s", "gone NoNode workers Releasing WaitingForRelease 60s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAnOldStatusHoldsNobody: what a policy said before the node's last fence ended is about that fence.
func TestAnOldStatusHoldsNobody(t *testing.T) {
	for since, want := range map[time.Duration]string{-time.Second: Held, time.Second: Watched} {
		s := seen()
		s.Policies[0].Status.Held = []api.HeldNode{{NodeName: "a2", Reason: api.WaitingForApproval}}
		s.Fences[2].Status.PhaseSince = at(since)
		if r := s.Rows()[1]; r.Node != "a2" || r.State != want {
			t.Errorf("its fence ended %s after the policy was looked at, and it is %+v", since, r)
		}
	}
}

// TestAnAbortedFenceMayBeAskedForAgain, also once the policy lists the node as held for that.
func TestAnAbortedFenceMayBeAskedForAgain(t *testing.T) {
	for name, held := range map[string][]api.HeldNode{
		"not listed": nil, "listed": {{NodeName: "a6", Reason: api.Aborted, Message: "a person has ended its fence"}},
	} {
		s := seen()
		s.Fences[4].Status.PhaseSince = at(-time.Minute)
		s.Policies[0].Status.Held = held
		a, err := s.Why("a6")
		if err != nil || a.Run != `kubectl fence ask a6 --reason "…"` || !strings.HasPrefix(a.Do, "mend the node; or ask for another fence") {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestAnyPhaseIsAState: a phase that is added later is shown by its name.
func TestAnyPhaseIsAState(t *testing.T) {
	for _, p := range append(api.Phases, "FromTheFuture") {
		s := seen()
		s.Fences = []api.NodeFence{fenceOf("a1", p, api.Admitted, "")}
		want := string(p)
		if p == api.Finished {
			want = Watched
		}
		if got := s.Rows()[0].State; got != want {
			t.Errorf("phase %s is shown as %s", p, got)
		}
	}
}

// TestWhy is three sentences and what to do.
func TestWhy(t *testing.T) {
	rule := "Policy workers decides (generation 2, mode Enforce, action Reboot, precedence 100): 4 of its 7 nodes are unhealthy, 1 of 1 at once runs, and 0 more may begin now (TooManyUnhealthy: 4 of 7 nodes are unhealthy, maxUnhealthy is 40% (2)); workers allows maxUnhealthy 40% and maxConcurrent 1.\n"
	calm := "Nodefence looks at the node at each change of it, and at the latest 30s after that.\n\n"
	s := seen()
	for name, want := range map[string]string{
		"a1": "Nothing is wrong with node a1 that its policy looks for: Ready is True, and no fence is open.\n" + rule + calm +
			"What you can do: nothing; see what a fence would do.\n    kubectl fence plan a1\n",
		"a2": "Nothing is wrong with node a2 that its policy looks for: Ready is True, and no fence is open; its last fence ended: fence 3, Recovered: back.\n" + rule + calm +
			"What you can do: nothing; see what a fence would do.\n    kubectl fence plan a2\n",
		"a3": "Nothing is wrong with node a3 that its policy looks for, but it could not be fenced (DeviceUnreachable: no answer).\n" + rule + calm +
			"What you can do: mend the device's network, or its address; then have it read again.\n    kubectl fence plan --read a3\n",
		"a4": "Fence 3 of node a4 stands in phase Fencing for 60s (PowerOffSent: off sent).\n" + rule +
			"Nodefence looks at it at 2026-01-01T12:00:12Z (in 12s), or earlier if something changes.\n\nWhat you can do: nothing: nodefence goes on by itself.\n    kubectl fence status -w\n",
		"a5": "Node a5 is not being fenced (TooManyUnhealthy: 2 of 4).\n" + rule + calm +
			"What you can do: mend what the unhealthy nodes have in common; raise maxUnhealthy only if so many may really be fenced.\n    kubectl fence status\n",
		"a6": "Node a6 is not being fenced, and its Ready is Unknown; its last fence ended: fence 3, Aborted: by ann.\n" + rule + calm +
			"What you can do: mend the node; or ask for another fence, because what a person has ended opens no other by itself.\n    kubectl fence ask a6 --reason \"…\"\n",
		"a7": "Node a7 is not being fenced, and its Ready is Unknown.\n" + rule + calm +
			"What you can do: wait: its policy may look for something else, or for longer.\n    kubectl fence plan a7\n",
		"b1": "Node b1 is not being fenced (NoPolicy: no FencePolicy selects it).\nNone of 1 FencePolicies selects it.\n" + calm +
			"What you can do: apply a FencePolicy whose spec.selector selects the node, if it is to be fenced.\n    kubectl fence init --for metal\n",
	} {
		a, err := s.Why(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, a.Words()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	const there = "node a8 does not exist; there are a1, a2, a3, a4, a5, a6, a7, b1, c1, gone"
	if _, err := s.Why("a8"); err == nil || err.Error() != there {
		t.Errorf("%v, want %s", err, there)
	}
}

// TestWhySaysWhatFails: a fence that stands because a write of nodefence's is refused is no fence
// that goes on by itself. Where the record can't say so, an Event does (S28).
func TestWhySaysWhatFails(t *testing.T) {
	s := seen()
	at := func(d time.Duration) api.Time { return metav1.NewMicroTime(s.Now.Add(d)) }
	told := func(node, words string, ago time.Duration) corev1.Event {
		e := corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node}, Reason: string(api.RecordNotSaved), Message: "[fence] " + words, LastTimestamp: metav1.NewTime(s.Now.Add(-ago))}
		return e
	}
	s.Fence("a4").Status.LastError = &api.LastError{Action: "Isolate", Message: "admission webhook denied it", Since: at(-2 * time.Minute), At: at(-5 * time.Second), Count: 5}
	s.Events = []corev1.Event{told("a7", "older", time.Minute), told("a7", "quota", time.Second), told("a1", "of before", 10*time.Minute)}
	const mend = "mend what refuses nodefence: the error names the webhook, the quota, the admission policy or the right that is missing; nodefence tries again by itself"
	for node, want := range map[string]Answer{
		"a1": {What: "Nothing is wrong with node a1 that its policy looks for: Ready is True, and no fence is open", Do: "nothing; see what a fence would do"},
		"a4": {Reason: api.PowerOffSent, What: "Fence 3 of node a4 stands in phase Fencing for 60s (PowerOffSent: off sent); the last Isolate failed, for 2m, last at 2026-01-01T11:59:55Z: admission webhook denied it", Do: mend},
		"a7": {Reason: api.RecordNotSaved, What: "Node a7 is not being fenced, and its Ready is Unknown; an Event of 2026-01-01T11:59:59Z says: quota", Do: mend},
	} {
		a, err := s.Why(node)
		if d := cmp.Diff(want, Answer{Reason: a.Reason, What: a.What, Do: a.Do}); d != "" || err != nil {
			t.Errorf("%s: %v %s", node, err, d)
		}
	}
}

// TestWhoHolds: the advice is about the policy that holds, which need not be the one that decides.
func TestWhoHolds(t *testing.T) {
	for _, tc := range []struct {
		reason         api.Reason
		message, wants string
	}{
		{api.Paused, "policy other (generation 2) is paused by bob", "kubectl fence resume other"},
		{api.Paused, "policy other.b-2 (generation 2) is paused by bob, of policy workers", "kubectl fence resume other.b-2"},
		{api.PauseWindow, "pause window of policy other (policy workers): no fence begins until 2026-01-01T13:00:00Z", "kubectl edit fencepolicy other"},
		{api.PauseWindowInvalid, "policy other, pauseWindows[0]: start is no time of day; no fence begins until that is corrected", "kubectl edit fencepolicy other"},
		{api.TooManyInATime, "policy other (generation 2): 3 fences began within 1h0m0s, 3 are allowed; the next in 5m0s", "kubectl edit fencepolicy other"},
		{api.TooManyInATime, "512 fences of the last 24 hours are kept, which maxRate of other policies may count", "kubectl edit fencepolicy workers"},
		{api.WaitingForTime, "until 2026-01-01T12:01:00Z", "kubectl edit fencepolicy workers"},
		{api.Paused, "policy deleted (generation 2) is paused by bob", "kubectl fence resume workers"},
	} {
		s := seen()
		s.Policies = append(s.Policies, policyOf("other", "a"), policyOf("other.b-2", "a"))
		for i := 1; i < len(s.Policies); i++ {
			s.Policies[i].Spec.Precedence = new(int32(200))
		}
		s.Policies[0].Status.Held[0].Reason, s.Policies[0].Status.Held[0].Message = tc.reason, tc.message
		s.Fences[0].Status.Reason, s.Fences[0].Status.Message = tc.reason, tc.message
		for what, node := range map[string]string{"held": "a5", "open": "a4"} {
			if a, err := s.Why(node); err != nil || a.Run != tc.wants || !strings.HasPrefix(a.Rule, "Policy workers decides") {
				t.Errorf("%s, %s: %v: %q, want %q: %s", tc.message, what, err, a.Run, tc.wants, a.Rule)
			}
		}
	}
}

// TestWhatGoesOnByARetry: nobody reads the device of an open fence but the fence itself.
func TestWhatGoesOnByARetry(t *testing.T) {
	const retry, then = "kubectl fence retry a4", "; then start the fence once more"
	for _, tc := range []struct {
		phase   api.Phase
		reason  api.Reason
		do, run string
	}{
		{api.Failed, api.DeviceFailed, "mend what the message says of the device" + then, retry},
		{api.Failed, api.WrongMachine, "correct the cable, or the ConfigMap in the message: the device answers for another machine" + then, retry},
		{api.Failed, api.SecretNotForThisHost, "correct the Secret's list of hosts, or the address" + then, retry},
		{api.Failed, api.BindingInvalid, "correct the object, key and line in the message" + then, retry},
		{api.Failed, api.BootTimedOut, "look at the machine's console: it is on, and its node did not come back" + then, retry},
		{api.Failed, api.CallLost, "see that nodefence's functions run, and that the device answers" + then, retry},
		{api.Failed, api.NotApproved, "start the fence once more, if it is still wanted: it asks for approval again", retry},
		{api.Failed, api.PowerOffNotSeen, "look at the machine and its device; if the machine is off, say so; if it is on, start the fence once more (kubectl fence retry a4)", "kubectl fence confirm-off a4"},
		{api.Pending, api.DeviceDenied, "correct the Secret in the message, or what the user may do on the device; then have it read again", retry},
		{api.Fencing, api.DeviceFailed, "mend what the message says of the device", "kubectl fence status -w"},
		{api.Restoring, api.RestoreFailed, "mend the device in the message: nodefence keeps trying", "kubectl fence plan a4"},
		{api.Fencing, api.CallLost, Nothing, "kubectl fence status -w"},
	} {
		s := seen()
		s.Fences[0].Status.Phase, s.Fences[0].Status.Reason = tc.phase, tc.reason
		if a, err := s.Why("a4"); err != nil || a.Do != tc.do || a.Run != tc.run {
			t.Errorf("%s, %s: %v: %s: %s\nwant %s: %s", tc.phase, tc.reason, err, a.Do, a.Run, tc.do, tc.run)
		}
	}
}

// TestWhatOpensNoOtherFence is a person's abort, and no other end.
func TestWhatOpensNoOtherFence(t *testing.T) {
	const never, waits = `kubectl fence ask a6 --reason "…"`, "kubectl fence plan a6"
	for outcome, want := range map[api.Reason]string{api.Aborted: never, api.Recovered: waits, api.HealedBeforeFence: waits, api.NodeReplaced: waits, api.DrainTimedOut: waits} {
		s := seen()
		s.Fences[4].Status.Outcome = outcome
		if a, err := s.Why("a6"); err != nil || a.Run != want {
			t.Errorf("%s: %v: %s", outcome, err, a.Words())
		}
	}
	s := seen()
	f := &s.Fences[4]
	f.Annotations = map[string]string{api.WithdrawnAnnotation: "q"}
	f.Status.Decision.AskedBy = []api.AskedBy{{ID: "q"}}
	if a, err := s.Why("a6"); err != nil || a.Run != waits {
		t.Errorf("withdrawn: %v: %s", err, a.Words())
	}
}

// TestNotes: what holds all fences is said, and who can end it.
func TestNotes(t *testing.T) {
	s := seen()
	if n := s.Notes(); len(n) > 0 {
		t.Error(n)
	}
	s.Ledger.Status.Storms = []api.Storm{
		{Policy: "deleted", Message: "3 of 4"}, {Policy: "racks", TopologyKey: "rack", Domain: "7", CoolDownUntil: at(time.Minute)},
		{Policy: "zones", TopologyKey: "zone", CoolDownUntil: at(time.Hour)}, {Policy: "over", CoolDownUntil: at(0)},
	}
	s.Ledger.Spec.CoolDownEnded = &api.CoolDownEnded{By: "bob", Reason: "switches", Until: *at(time.Hour)}
	if d := cmp.Diff([]string{
		"Storm over policy deleted: 3 of 4. No fence begins there.",
		"The storm over policy racks, rack 7 has ended; no fence begins there before 2026-01-01T12:01:00Z.",
		"The storm over policy zones, zone without a value has ended, and bob has ended its cool-down: switches.",
	}, s.Notes()); d != "" {
		t.Error(d)
	}
	s.Ledger.Status.Storms = nil
	s.Ledger.Status.Leases.Since = at(-time.Second)
	if d := cmp.Diff([]string{"no fence begins: LeasePictureOld: the Leases have been watched for less than one renewal"}, s.Notes()); d != "" {
		t.Error(d)
	}
	s.Ledger.Spec.Stop, s.Ledger.Spec.StopReason = true, "switches"
	if d := cmp.Diff([]string{"FenceLedger cluster is stopped: no fence begins, and no further power-off is sent (switches); kubectl fence start lets them begin again"}, s.Notes()); d != "" {
		t.Error(d)
	}
}

// TestPausesAreNoted from the policy's spec on, whoever holds fences besides, with what ends them.
func TestPausesAreNoted(t *testing.T) {
	s := seen()
	s.Policies = append(s.Policies, policyOf("adopted", "b"), policyOf("both", "c"))
	s.Policies[0].Spec.PauseRequests = []string{"ann", "upgrade"}
	s.Policies[1].Labels = map[string]string{policy.AdoptedLabel: "MachineHealthCheck"}
	s.Policies[1].Annotations = map[string]string{policy.ComputedAt: start.Add(-time.Minute).Format(time.RFC3339)}
	workers := "no new fence begins under policy workers: it is paused by ann, upgrade; kubectl fence resume workers takes your name out, or another one with --as-name"
	if d := cmp.Diff([]string{workers}, s.Notes()); d != "" {
		t.Error(d)
	}
	s.Policies[1].Annotations[policy.ComputedAt] = start.Add(-time.Hour).Format(time.RFC3339)
	s.Ledger.Spec.Stop = true
	got := s.Notes()
	if len(got) != 3 || got[1] != workers {
		t.Fatal(got)
	}
	if !strings.HasPrefix(got[2], "no new fence begins under policy adopted: it is paused by the age of annotation nodefence.io/computed-at: ") || strings.Contains(got[2], "resume") {
		t.Error(got[2])
	}
}

// TestADeadNodefence is noted, and "why" promises no next look: a source that runs looks every few seconds.
func TestADeadNodefence(t *testing.T) {
	for name, tc := range map[string]struct {
		at         *api.Time
		note, next string
	}{
		"runs":  {at(-30 * time.Second), "", "Nodefence looks at it at 2026-01-01T12:00:12Z (in 12s), or earlier if something changes."},
		"dead":  {at(-31 * time.Second), "nodefence has not looked at the Leases since 2026-01-01T11:59:29Z (31s ago): no fence begins. See: kubectl get pods -n nodefence-system", "Nodefence may not look at the node: it has not looked at the Leases since 2026-01-01T11:59:29Z, so its source may not run."},
		"never": {nil, "nodefence has not looked at the Leases yet: no fence begins. See: kubectl get pods -n nodefence-system", "Nodefence may not look at the node: it has not looked at the Leases yet, so its source may not run."},
	} {
		s := seen()
		s.Ledger.Status.Leases.ObservedAt = tc.at
		if got := strings.Join(s.Notes(), "\n"); got != tc.note {
			t.Errorf("%s: noted %q, want %q", name, got, tc.note)
		}
		for node, does := range map[string]string{"a4": "nothing: nodefence goes on by itself", "a7": "wait: its policy may look for something else, or for longer"} {
			a, err := s.Why(node)
			if err != nil {
				t.Fatal(err)
			}
			if tc.note != "" {
				does = "see that nodefence's source runs"
			}
			if node == "a4" && !strings.Contains(a.Words(), tc.next) || !strings.Contains(a.Words(), "What you can do: "+does) {
				t.Errorf("%s: %s", name, a.Words())
			}
		}
	}
	s := seen()
	s.Ledger = nil
	if a, err := s.Why("a4"); err != nil || !strings.HasPrefix(a.Next, "nodefence looks at it at") || s.Absent() != "" {
		t.Errorf("nothing is known of the ledger: %v: %s", err, a.Next)
	}
}

// TestHistory: who, why, evidence, proof and times of the latest fence, and what is kept of those
// before.
func TestHistory(t *testing.T) {
	f := fenceOf("a1", api.Finished, api.Recovered, "back")
	st := &f.Status
	st.Outcome, st.Power.Cuts = api.Recovered, 1
	st.Decision.AskedBy = []api.AskedBy{{Source: "/s", User: "ann", Reason: "fan"}}
	st.Answers = []api.RequestAnswer{{Request: api.AskedApprove, By: "bob", Result: api.Done}}
	st.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Since: *at(-3 * time.Minute)}}
	st.Proof = &api.Proof{Type: api.ProofSeenOff, At: *at(0), Reads: []api.Read{{State: api.PoweredOff, At: *at(-time.Second)}, {State: api.PoweredOff, At: *at(0)}}}
	st.History = []api.HistoryEntry{{At: *at(0), Phase: api.Fencing, Reason: api.SeenOff, Message: "off"}}
	reports := []api.FenceReport{reportOf(&f, 2, at(-time.Hour), at(-50*time.Minute)), reportOf(&f, 3, st.OpenedAt, st.PhaseSince), {Spec: api.FenceReportSpec{NodeName: "other"}}}
	past := History(reports, []api.NodeFence{f}, "a1")
	if len(past) != 2 || past[0].FenceNumber != 3 || past[1].FenceNumber != 2 || past[1].Outcome != api.HealedBeforeFence {
		t.Fatalf("%+v", past)
	}
	if of := History(reports, nil, "a1"); len(of) != 2 || len(of[0].Entries) > 0 {
		t.Errorf("once the record is deleted: %+v", of)
	}
	if of := Since(History(reports, []api.NodeFence{f}, "a1"), start.Add(-10*time.Minute)); len(of) != 1 || of[0].FenceNumber != 3 {
		t.Errorf("of the last ten minutes: %+v", of)
	}
	past[0] = latest(&f)
	want := `fence 3 of node a1, under policy workers: Ready=Unknown
  by        ann (fan)
  by        bob (Approve: Done)
  evidence  Ready=Unknown since 2026-01-01T11:57:00Z
  2026-01-01T12:00:00Z  Fencing  SeenOff: off
  proof     SeenOff at 2026-01-01T12:00:00Z, read PoweredOff at 2026-01-01T11:59:59Z, read PoweredOff at 2026-01-01T12:00:00Z
`
	if d := cmp.Diff(want, Story(past[0])); d != "" {
		t.Error(d)
	}
	wasDead := `fence 2 of node a1, under policy workers: Ready=Unknown since noon
  by        ann (fan)
  by        bob (ConfirmOff: Done, plug pulled)
  2026-01-01T11:00:00Z  opened
  2026-01-01T11:05:00Z  released 3 pods, 1 and 0 attachments left, timed out
  2026-01-01T11:10:00Z  ended: healed
  proof     Confirmed at 2026-01-01T11:05:00Z, by bob, read Unknown at 2026-01-01T11:05:00Z
`
	if d := cmp.Diff(wasDead, Story(past[1])); d != "" {
		t.Error(d)
	}
	if got := History(nil, []api.NodeFence{f}, "other"); len(got) > 0 {
		t.Error("of another node:", got)
	}
	row := HistoryTable(past, start).Rows[0].Cells
	if d := cmp.Diff([]any{"2m ago", "a1", "3", "Ready=Unknown", "ann (fan), bob (Approve: Done)", "SeenOff", "-", "60s", "Recovered", "1", "workers", "Ready=Unknown since 2026-01-01T11:57:00Z", "back"}, row); d != "" {
		t.Error(d)
	}
}

// reportOf is the report of one fence of a record.
func reportOf(f *api.NodeFence, number int64, opened, closed *api.Time) api.FenceReport {
	then := metav1.NewMicroTime(opened.Add(5 * time.Minute))
	r := api.FenceReport{Spec: api.FenceReportSpec{
		NodeName: f.Name, FenceUID: f.UID, FenceNumber: number, PolicyName: "workers", Why: "Ready=Unknown since noon", OpenedAt: *opened, ClosedAt: *closed, ReleasedAt: &then,
		AskedBy:  []api.ReportAsker{{Source: "/s", User: "ann", Reason: "fan"}},
		Requests: []api.ReportRequest{{Request: api.AskedConfirmOff, By: "bob", Reason: "plug pulled", Result: api.Done}},
		Proof:    &api.ReportProof{Type: api.ProofConfirmed, By: "bob", At: then, Reads: []api.ReportRead{{State: api.PowerUnknown, At: then}}},
		Released: &api.ReportRelease{StartedAt: then, Pods: 3, PodsLeft: 1, TimedOut: true}, Outcome: api.HealedBeforeFence, Message: "healed",
	}}
	r.Name = api.ReportName(f.UID, number)
	return r
}

// TestForeignTextsStayInTheirLine: what others write begins no line, such as one of a proof, and steers no terminal.
func TestForeignTextsStayInTheirLine(t *testing.T) {
	const foreign, shown = "fan\r\n  proof     SeenOff\x1b[2K\u009b1A\tend\u202e\u2028", "fan    proof     SeenOff [2K 1A end  "
	f := fenceOf("a1", api.Finished, api.Recovered, foreign)
	f.Status.Outcome = api.Recovered
	f.Status.Decision.AskedBy = []api.AskedBy{{User: "ann", Reason: foreign}}
	f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerRequest, Reason: foreign}
	f.Status.Proof = &api.Proof{Type: api.ProofConfirmed, At: *at(0), By: foreign}
	f.Status.History = []api.HistoryEntry{{At: *at(0), Phase: api.Fencing, Reason: api.SeenOff, Message: foreign}}
	story := "fence 3 of node a1, under policy workers: Request: " + shown + "\n" +
		"  by        ann (" + shown + ")\n" +
		"  2026-01-01T12:00:00Z  Fencing  SeenOff: " + shown + "\n" +
		"  proof     Confirmed at 2026-01-01T12:00:00Z, by " + shown + "\n"
	if d := cmp.Diff(story, Story(History(nil, []api.NodeFence{f}, "")[0])); d != "" {
		t.Error(d)
	}
	s := seen()
	s.Fences[2] = f
	s.Fences[2].Name = "a2"
	a, err := s.Why("a2")
	if got := a.Words(); err != nil || !strings.Contains(got, "its last fence ended: fence 3, Recovered: "+shown+".\n") {
		t.Errorf("%v: %q", err, got)
	}
}
