package waker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// shown is a cluster with one policy and one node, b.
type shown struct {
	policy   api.FencePolicy
	machines []policy.Machine
	asked    int
	broken   error
	ledger   api.FenceLedger
}

func (s *shown) Nodes(context.Context) ([]corev1.Node, error) {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "u"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return []corev1.Node{n}, nil
}
func (s *shown) Policies(context.Context) ([]api.FencePolicy, error) {
	return []api.FencePolicy{s.policy}, nil
}
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

// TestMissingNodesAreTold: once they are missing for too long, at each tick with
// another event, and not while a fence is open.
func TestMissingNodesAreTold(t *testing.T) {
	s := &shown{}
	s.policy.Spec.MissingNodes = &api.MissingNodesRule{NodeNames: []string{"a", "b"}}
	b, at := &broker{}, now
	w := &Waker{Objects: s, Source: events.SourceOf("c"), Sender: b, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range []struct {
		after  time.Duration
		fences []api.NodeFence
		want   []string
	}{
		{0, nil, nil}, {9 * time.Minute, nil, nil}, {10 * time.Minute, nil, []string{"a " + events.NodeUnhealthy}},
		{11 * time.Minute, []api.NodeFence{record("a", api.Pending, -time.Hour)}, nil},
		{12 * time.Minute, []api.NodeFence{record("a", api.Finished, never)}, []string{"a " + events.NodeUnhealthy}},
	} {
		at, b.got, w.Fences = now.Add(c.after), nil, records{all: c.fences}
		if err := w.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.got); d != "" {
			t.Errorf("after %s: %s", c.after, d)
		}
	}
	if got := s.policy.Status.Missing; len(got) != 1 || !got[0].Since.Time.Equal(now) || s.asked != 0 {
		t.Errorf("missing: %+v; Machines were asked for %d times", got, s.asked)
	}
	s.policy.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{}}
	s.machines = []policy.Machine{{ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: "x", CreationTimestamp: metav1.NewTime(now)}}}
	if err := w.Wake(t.Context()); err != nil || len(s.policy.Status.Missing) != 2 || s.policy.Status.Missing[1].Machine.String() != "m/x" {
		t.Errorf("%v %+v", err, s.policy.Status.Missing)
	}
	s.machines, s.broken = nil, errors.New("no such kind")
	if err := w.Wake(t.Context()); !errors.Is(err, s.broken) || len(s.policy.Status.Missing) != 2 {
		t.Errorf("without leave to see the Machines: %v %+v", err, s.policy.Status.Missing)
	}
}
