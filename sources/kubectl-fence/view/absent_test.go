package view

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// leaseOf is a source's Lease, held by holder, taken and renewed at these times.
func leaseOf(holder string, taken, renewed time.Duration) *coordinationv1.Lease {
	l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{AcquireTime: at(taken), RenewTime: at(renewed)}}
	if holder != "" {
		l.Spec.HolderIdentity = &holder
	}
	return l
}

// TestASourceThatIsAbsent is the first note, with the Lease of the source as far as it was read. A picture that is
// young enough shows by itself that a source looks.
func TestASourceThatIsAbsent(t *testing.T) {
	const dead, pods, log = "nodefence has not looked at the Leases since 2026-01-01T11:55:00Z (5m ago): no fence begins", ". See: kubectl get pods -n ns", ". See: kubectl logs -n ns deployment/nodefence-source"
	for name, tc := range map[string]struct {
		seen  time.Duration
		lease *coordinationv1.Lease
		read  bool
		want  string
	}{
		"it looks":           {-30 * time.Second, nil, true, ""},
		"not known":          {-5 * time.Minute, nil, false, dead + pods},
		"no Lease":           {-5 * time.Minute, nil, true, dead + "; no source leads: there is no Lease ns/nodefence-source" + pods},
		"never held":         {-5 * time.Minute, &coordinationv1.Lease{}, true, dead + "; no source leads: nobody holds Lease ns/nodefence-source" + pods},
		"given up":           {-5 * time.Minute, leaseOf("", -time.Hour, -5*time.Minute), true, dead + "; no source leads: Lease ns/nodefence-source was given up at 2026-01-01T11:55:00Z (5m ago)" + pods},
		"not renewed":        {-5 * time.Minute, leaseOf("s-1", -time.Hour, -31*time.Second), true, dead + "; no source leads: s-1 renewed Lease ns/nodefence-source last at 2026-01-01T11:59:29Z (31s ago)" + pods},
		"it leads":           {-5 * time.Minute, leaseOf("s-1", -time.Hour, -2*time.Second), true, dead + "; source s-1 leads, and FenceLedger cluster does not get what it writes" + log},
		"it begins to lead":  {-5 * time.Minute, leaseOf("s-1", -4*time.Second, -2*time.Second), true, dead + "; source s-1 leads since 2026-01-01T11:59:56Z, and has yet to look" + log},
		"a Lease to be held": {-5 * time.Minute, leaseOf("", -time.Hour, -time.Second), true, dead + "; no source leads: Lease ns/nodefence-source was given up at 2026-01-01T11:59:59Z (1s ago)" + pods},
	} {
		s := seen()
		s.Ledger.Status.Leases.ObservedAt, s.Source, s.SourceRead, s.Namespace = at(tc.seen), tc.lease, tc.read, "ns"
		s.Ledger.Spec.Stop = true
		if got := s.Absent(); got != tc.want || tc.want != "" && s.Notes()[0] != tc.want {
			t.Errorf("%s: %q\nwant %q", name, got, tc.want)
		}
	}
	s := seen()
	s.Ledger = &api.FenceLedger{}
	if got := s.Absent(); !strings.HasPrefix(got, "nodefence has not run in this cluster: it has no FenceLedger") {
		t.Errorf("never installed: %q", got)
	}
}

// TestFunctionsThatAreAbsent leave a due fence alone, or count no nodes. A call that is under way, an error that was
// noted lately and a record of a newer nodefence show nothing.
func TestFunctionsThatAreAbsent(t *testing.T) {
	const none, pods = "no function of nodefence answers or may write, or its broker delivers nothing: ", ". See: kubectl get pods -n nodefence-system"
	const due = none + "fence 3 of node a4 was to be looked at at 2026-01-01T11:57:59Z (2m1s ago)" + pods
	late := func(s *Seen) { s.Fence("a4").Status.NextLook = at(-2*time.Minute - time.Second) }
	for name, tc := range map[string]struct {
		change func(*Seen)
		want   string
	}{
		"they answer":      {func(*Seen) {}, ""},
		"a fence is late":  {late, due},
		"it is due":        {func(s *Seen) { s.Fence("a4").Status.NextLook = at(-2 * time.Minute) }, ""},
		"a call goes on":   {func(s *Seen) { late(s); s.Fence("a4").Status.Claim = &api.Claim{NotAfter: *at(time.Second)} }, ""},
		"the call is over": {func(s *Seen) { late(s); s.Fence("a4").Status.Claim = &api.Claim{NotAfter: *at(-time.Second)} }, due},
		"it noted an error": {func(s *Seen) {
			late(s)
			s.Fence("a4").Status.LastError = &api.LastError{Action: api.LookFailed, At: *at(-time.Second)}
		}, ""},
		"a newer one wrote it": {func(s *Seen) { late(s); s.Fence("a4").Status.MinReaderVersion = api.Schema + 1 }, ""},
		"its fence is over":    {func(s *Seen) { late(s); s.Fence("a4").Status.Phase = api.Finished }, ""},
		"another is later": {func(s *Seen) {
			late(s)
			s.Fence("c1").Status.NextLook = at(-time.Hour)
		}, none + "fence 3 of node c1 was to be looked at at 2026-01-01T11:00:00Z (60m ago)" + pods},
		"nobody counts": {func(s *Seen) { s.Policies[0].Status.ObservedAt = at(-6 * time.Minute) },
			none + "the nodes of policy workers were not counted since 2026-01-01T11:54:00Z (6m ago)" + pods},
		"somebody counted": {func(s *Seen) { s.Policies[0].Status.ObservedAt = at(-2*admission.StatusAge - time.Minute) }, ""},
		"another policy is counted": {func(s *Seen) {
			s.Policies = append(s.Policies, policyOf("b", "b"))
			s.Policies[0].Status.ObservedAt = at(-time.Hour)
		}, ""},
		"a policy is new": {func(s *Seen) {
			s.Policies[0].Status.ObservedAt, s.Policies[0].CreationTimestamp = nil, metav1.NewTime(start.Add(-time.Minute))
		}, ""},
		"a policy was never counted": {func(s *Seen) {
			s.Policies[0].Status.ObservedAt, s.Policies[0].CreationTimestamp = nil, metav1.NewTime(start.Add(-6*time.Minute))
		}, none + "the nodes of policy workers were not counted since 2026-01-01T11:54:00Z (6m ago)" + pods},
	} {
		s := seen()
		tc.change(&s)
		if got := s.Absent(); got != tc.want {
			t.Errorf("%s: %q\nwant %q", name, got, tc.want)
		}
	}
	s := seen()
	late(&s)
	s.Ledger.Status.Leases.ObservedAt = at(-time.Hour)
	if got, both := s.Absent(), ": no fence begins; "+due; !strings.HasSuffix(got, both) {
		t.Errorf("both are absent: %q, want %q at its end", got, both)
	}
}
