package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestWhyCountsAnew: the numbers are of what was read, and not of a status that is older than the fence.
func TestWhyCountsAnew(t *testing.T) {
	old := func(p *api.FencePolicy) {
		p.Status.SelectedNodes, p.Status.UnhealthyNodes, p.Status.FencesAllowed, p.Spec.Limits.MaxUnhealthy = 6, 0, 3, new(intstr.FromString("90%"))
	}
	waits := func(s *Seen, nodes ...string) {
		for _, n := range nodes {
			s.Fences = append(s.Fences, fenceOf(n, api.Pending, api.TooManyConcurrent, "1 of 1"))
		}
	}
	for name, tc := range map[string]struct {
		change func(*Seen)
		want   string
	}{
		"a fence runs": {func(*Seen) {}, "4 of its 7 nodes are unhealthy, 1 of 1 at once runs, and 0 more may begin now; "},
		"others wait":  {func(s *Seen) { waits(s, "a5", "a7") }, "4 of its 7 nodes are unhealthy, 1 of 1 at once runs, 2 wait, and 0 more may begin now; "},
		"dry fences wait for nothing": {func(s *Seen) {
			waits(s, "a5", "a7")
			s.Fences[len(s.Fences)-1].Status.Decision.Settings.Mode = api.ModeDryRun
		}, "1 of 1 at once runs, 1 waits, and 0 more may begin now; "},
		"none runs": {func(s *Seen) { s.Fences = nil }, "4 of its 7 nodes are unhealthy, 0 of 1 at once run, and 1 more may begin now; "},
		"a fence of the ledger is over": {func(s *Seen) {
			s.Fences = s.Fences[2:3]
			s.Ledger.Status.Reservations = []api.Reservation{{NodeName: "a2", FenceNumber: 3, At: *at(-time.Hour)}}
		}, "0 of 1 at once run, and 1 more may begin now; "},
		"all are held": {func(s *Seen) { s.Ledger.Spec.Stop = true }, "1 of 1 at once runs, and 0 more may begin now (Stopped: the ledger's stop switch is on); "},
		"it is paused": {func(s *Seen) { s.Fences, s.Policies[0].Spec.PauseRequests = nil, []string{"ann"} }, "0 of 1 at once run, and 0 more may begin now (Paused: paused by ann); "},
		"nobody looks": {func(s *Seen) { s.Ledger.Status.Leases.ObservedAt = at(-time.Hour) }, "and 0 more may begin now (LeasePictureOld: the picture of the Leases is older than 30s); "},
		"no ledger":    {func(s *Seen) { s.Ledger = nil }, ": how many fences may begin is not known; "},
	} {
		s := seen()
		old(&s.Policies[0])
		tc.change(&s)
		if a, err := s.Why("a4"); err != nil || !strings.Contains(a.Rule, tc.want) {
			t.Errorf("%s: %v: %s\nwant %s", name, err, a.Rule, tc.want)
		}
	}
}

// TestBrakesAreOfNow, and not of the ledger's condition, which is written once in a while.
func TestBrakesAreOfNow(t *testing.T) {
	s := seen()
	s.Ledger.Status.Conditions = []metav1.Condition{{Type: "AcceptingFences", Status: metav1.ConditionFalse, Reason: "Stopped", Message: "of before"}}
	if got := s.Brakes(); len(got) > 0 {
		t.Errorf("nothing holds all fences: %q", got)
	}
	s.Ledger.Status.Conditions[0].Status = metav1.ConditionTrue
	s.Ledger.Status.Leases.Since = at(-time.Second)
	if got := s.Brakes(); len(got) != 1 || got[0] != "no fence begins: LeasePictureOld: the Leases have been watched for less than one renewal" {
		t.Errorf("the Leases were watched for a second: %q", got)
	}
}

// TestANodeThatFailsAgain while its fence waits for its health is said to. A node that boots is not.
func TestANodeThatFailsAgain(t *testing.T) {
	const again = ": it has failed again; nodefence waits for it until recovery.bootTimeout of its policy is over"
	for name, tc := range map[string]struct {
		phase  api.Phase
		status corev1.ConditionStatus
		ago    time.Duration
		want   string
	}{
		"it boots":       {api.Recovering, corev1.ConditionUnknown, 2 * time.Minute, "(SeenOn: on); its Ready is Unknown for 2m"},
		"it starts":      {api.Recovering, corev1.ConditionFalse, 10 * time.Second, "(SeenOn: on); its Ready is False for 10s"},
		"it is back":     {api.Recovering, corev1.ConditionTrue, 10 * time.Second, "(SeenOn: on)"},
		"it fails again": {api.Recovering, corev1.ConditionUnknown, 10 * time.Second, "(SeenOn: on); its Ready is Unknown for 10s" + again},
		"another phase":  {api.Fencing, corev1.ConditionUnknown, 10 * time.Second, "(SeenOn: on)"},
	} {
		s := seen()
		s.Fence("c1").Status.Phase = tc.phase
		s.Node("c1").Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: tc.status, LastTransitionTime: metav1.NewTime(start.Add(-tc.ago))}
		if a, err := s.Why("c1"); err != nil || !strings.HasSuffix(a.What, tc.want) {
			t.Errorf("%s: %v: %s", name, err, a.What)
		}
	}
}

// TestAStormHasTheNumbersOfNow: the ledger has those of the last gate that was asked.
func TestAStormHasTheNumbersOfNow(t *testing.T) {
	for most, want := range map[int32]string{
		1: "Storm over policy p: 2 of 3 nodes are unhealthy, maxUnhealthy is 1 (1). No fence begins there.",
		2: "The storm over policy p has ended, and its cool-down is about to begin: no fence begins there.",
	} {
		s := Seen{Now: start, Ledger: &api.FenceLedger{}, Policies: []api.FencePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}}
		s.Policies[0].Spec.Selector, s.Policies[0].Spec.Limits.MaxUnhealthy = &api.LabelSelector{}, new(intstr.FromInt32(most))
		s.Ledger.Status.Storms = []api.Storm{{Policy: "p", Message: "3 of 3 nodes are unhealthy, maxUnhealthy is 1 (1)"}}
		for i, ready := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
			s.Nodes = append(s.Nodes, n)
		}
		if got := s.Storms(stamp); len(got) != 1 || got[0] != want {
			t.Errorf("maxUnhealthy %d: %q, want %q", most, got, want)
		}
	}
}
