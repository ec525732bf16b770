package report

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestANodeThatIsGoneIsCountedNoMore, once nothing was reported of it for a week: the names
// of nodes that come and go don't add up.
func TestANodeThatIsGoneIsCountedNoMore(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := New(slog.New(slog.DiscardHandler), nil, reg)
	now := time.Unix(1e9, 0)
	p.metrics.problems.now = func() time.Time { return now }
	tell := func(node, problem string) {
		p.Alerted(t.Context(), Refusal{Function: "gate", Cause: event.New(), Node: node, Reason: api.NodeProblem}, problem)
	}
	counted := func() map[string]float64 {
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, family := range all {
			for _, m := range family.GetMetric() {
				if family.GetName() == "nodefence_node_problems_total" {
					got[fmt.Sprint(m.GetLabel()[0].GetValue(), " ", m.GetLabel()[1].GetValue())] = m.GetCounter().GetValue()
				}
			}
		}
		return got
	}
	tell("gone", "OOMKilling")
	tell("here", "OOMKilling")
	tell("here", "TaskHung")
	now = now.Add(countedFor)
	if d := cmp.Diff(map[string]float64{"gone OOMKilling": 1, "here OOMKilling": 1, "here TaskHung": 1}, counted()); d != "" {
		t.Errorf("after a week: %s", d)
	}
	tell("here", "OOMKilling")
	now = now.Add(time.Second)
	if d := cmp.Diff(map[string]float64{"here OOMKilling": 2}, counted()); d != "" {
		t.Errorf("later: %s", d)
	}
	tell("gone", "OOMKilling")
	if d := cmp.Diff(map[string]float64{"here OOMKilling": 2, "gone OOMKilling": 1}, counted()); d != "" {
		t.Errorf("once more: %s", d)
	}
}
