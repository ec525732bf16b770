package policystatus

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// shown is a cluster with one policy and one node, b.
type shown struct {
	policy   api.FencePolicy
	fences   []api.NodeFence
	machines []policy.Machine
	asked    int
	broken   error
	ledger   api.FenceLedger
	// lost is since when the node's Ready is Unknown; the zero time if it is True.
	lost metav1.Time
}

func (s *shown) Nodes(context.Context) ([]corev1.Node, error) {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "u"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if !s.lost.IsZero() {
		n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = corev1.ConditionUnknown, s.lost
	}
	return []corev1.Node{n}, nil
}
func (s *shown) Policies(context.Context) ([]api.FencePolicy, error) {
	return []api.FencePolicy{s.policy}, nil
}
func (s *shown) Fences(context.Context) ([]api.NodeFence, error)          { return s.fences, nil }
func (s *shown) FenceBudgets(context.Context) ([]api.FenceBudget, error)  { return nil, nil }
func (s *shown) Ledger(context.Context) (*api.FenceLedger, error)         { return s.ledger.DeepCopy(), nil }
func (s *shown) SaveBudgetStatus(context.Context, *api.FenceBudget) error { return nil }
func (s *shown) EtcdPods(context.Context) ([]corev1.Pod, error)           { return nil, nil }
func (s *shown) Machines(context.Context) ([]policy.Machine, error) {
	s.asked++
	return s.machines, s.broken
}
func (s *shown) SavePolicyStatus(_ context.Context, p *api.FencePolicy) error {
	s.policy = *p
	return nil
}

// TestMissingNodesAreWritten: since when they are missing, at the first look and for good, and
// what is missing while the Machines can't be read stays on record.
func TestMissingNodesAreWritten(t *testing.T) {
	s, at := &shown{}, now
	s.policy.Spec.MissingNodes = &api.MissingNodesRule{NodeNames: []string{"a", "b"}}
	w := &Writer{Objects: s, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for range 4 {
		if err := w.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := s.policy.Status; !p.ObservedAt.Time.Equal(at) {
			t.Errorf("while a node is missing it is said that somebody looks: at %s, it is %s", p.ObservedAt, at)
		}
		at = at.Add(admission.MissingKept)
	}
	if got := s.policy.Status.Missing; len(got) != 1 || got[0].NodeName != "a" || !got[0].Since.Time.Equal(now) || s.asked != 0 {
		t.Errorf("missing: %+v; Machines were asked for %d times", got, s.asked)
	}
	s.policy.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{}}
	failed := policy.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: "y", CreationTimestamp: metav1.NewTime(now)}}
	failed.Status.Phase = "Failed"
	s.machines = []policy.Machine{{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: "x", CreationTimestamp: metav1.NewTime(now)}}, failed}
	if err := w.Write(t.Context()); err != nil || len(s.policy.Status.Missing) != 3 || s.policy.Status.Missing[1].Machine.String() != "m/x" {
		t.Errorf("%v %+v", err, s.policy.Status.Missing)
	}
	if got := s.policy.Status.FailedMachines; len(got) != 1 || got[0].MachineRef.String() != "m/y" {
		t.Errorf("failed: %+v", got)
	}
	s.machines, s.broken = nil, errors.New("no such kind")
	if err := w.Write(t.Context()); !errors.Is(err, s.broken) || len(s.policy.Status.Missing) != 3 || len(s.policy.Status.FailedMachines) != 1 {
		t.Errorf("without leave to see the Machines: %v %+v", err, s.policy.Status)
	}
}

// TestAStatusShowsThatSomebodyWrites: observedAt is never much older than admission.StatusAge, though nothing changes.
func TestAStatusShowsThatSomebodyWrites(t *testing.T) {
	s, at := &shown{}, now
	w := &Writer{Objects: s, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0}, {admission.StatusAge, 0}, {admission.StatusAge + time.Second, admission.StatusAge + time.Second}, {2 * admission.StatusAge, admission.StatusAge + time.Second},
	} {
		at = now.Add(c.after)
		if err := w.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.policy.Status.ObservedAt.Sub(now); got != c.want {
			t.Errorf("after %s the status is of %s, want %s", c.after, got, c.want)
		}
	}
}
