package resync

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
}

func (s *shown) Nodes(context.Context) ([]corev1.Node, error) {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "u"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return []corev1.Node{n}, nil
}
func (s *shown) Policies(context.Context) ([]api.FencePolicy, error) {
	return []api.FencePolicy{s.policy}, nil
}
func (s *shown) Machines(context.Context) ([]policy.Machine, error) {
	s.asked++
	return s.machines, s.broken
}

// missing has the policy's status list nodes as missing since the time of the first look.
func (s *shown) missing(nodes ...string) {
	s.policy.Status.Missing = nil
	for _, n := range nodes {
		s.policy.Status.Missing = append(s.policy.Status.Missing, api.MissingNode{NodeName: n, Since: metav1.NewMicroTime(now)})
	}
}

// TestMissingNodesAreTold: once they have been missing for too long, at each tick with
// another event, and not while a fence is open.
func TestMissingNodesAreTold(t *testing.T) {
	s := &shown{}
	s.policy.Spec.MissingNodes = &api.MissingNodesRule{NodeNames: []string{"a", "b"}}
	b, at := &broker{}, now
	w := &Resyncer{Objects: s, Source: events.SourceOf("c"), Sender: b, Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	for name, c := range map[string]struct {
		after  time.Duration
		fences []api.NodeFence
		listed []string
		want   []string
	}{
		"for no time yet":                      {0, nil, []string{"a"}, nil},
		"not for long enough":                  {9 * time.Minute, nil, []string{"a"}, nil},
		"for too long":                         {10 * time.Minute, nil, []string{"a"}, []string{"a " + events.NodeUnhealthy}},
		"its fence is open":                    {11 * time.Minute, []api.NodeFence{record("a", api.Pending, -time.Hour)}, []string{"a"}, nil},
		"its fence is over":                    {12 * time.Minute, []api.NodeFence{record("a", api.Finished, never)}, []string{"a"}, []string{"a " + events.NodeUnhealthy}},
		"nobody has looked for some minutes":   {12 * time.Minute, nil, []string{"a", "stale"}, nil},
		"nobody has written since when":        {12 * time.Minute, nil, nil, nil},
		"it is back, and the status is old":    {12 * time.Minute, nil, []string{"b"}, nil},
		"the policy expects it no more at all": {12 * time.Minute, nil, []string{"x"}, nil},
	} {
		s.missing(c.listed...)
		looked := metav1.NewMicroTime(now.Add(c.after))
		if s.policy.Status.ObservedAt = &looked; slices.Contains(c.listed, "stale") {
			looked = metav1.NewMicroTime(now)
		}
		at, b.got, w.Fences, w.calls = now.Add(c.after), nil, records{all: c.fences}, nil
		if err := w.Resync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if s.asked != 0 {
		t.Errorf("Machines were asked for %d times, and no policy has a rule about them", s.asked)
	}
}

// TestMachinesThatCannotBeRead: a status alone leads to no event, and all other nodes are
// told of.
func TestMachinesThatCannotBeRead(t *testing.T) {
	s := &shown{broken: errors.New("no such kind")}
	s.policy.Spec.MissingNodes = &api.MissingNodesRule{NodeNames: []string{"a"}}
	s.policy.Spec.Machines = &api.MachinesRule{Selector: &api.LabelSelector{}}
	s.missing("a")
	b := &broker{}
	w := &Resyncer{
		Objects: &unready{shown: s, node: notReady("b", corev1.ConditionUnknown, now)}, Fences: records{}, Source: events.SourceOf("c"), Sender: b,
		Now: func() time.Time { return now.Add(time.Hour) }, Log: slog.New(slog.DiscardHandler),
	}
	if err := w.Resync(t.Context()); !errors.Is(err, s.broken) {
		t.Errorf("got %v", err)
	}
	if d := cmp.Diff([]string{"b " + events.NodeUnhealthy}, b.got); d != "" {
		t.Error(d)
	}
}
