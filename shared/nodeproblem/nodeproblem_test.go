package nodeproblem

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestReportsCountFromTheLastFenceThatAnsweredThem: not from one that a condition
// opened and that healed before anything was done (S19).
func TestReportsCountFromTheLastFenceThatAnsweredThem(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *api.Time { x := metav1.NewMicroTime(now.Add(-ago)); return &x }
	finished := func(change ...func(*api.NodeFence)) *api.NodeFence {
		f := &api.NodeFence{Status: api.NodeFenceStatus{FenceNumber: 3}}
		f.Status = api.NodeFenceStatus{Decision: f.Status.Decision, FenceNumber: 3, Phase: api.Finished, PhaseSince: at(time.Minute), Outcome: api.HealedBeforeFence}
		for _, c := range change {
			c(f)
		}
		return f
	}
	past := func(outcome api.Reason, cuts int32, asked ...api.PastAskedBy) func(*api.NodeFence) {
		return func(f *api.NodeFence) {
			ago := time.Duration(5-len(f.Status.Past)) * time.Minute
			f.Status.Past = append(f.Status.Past, api.PastFence{ClosedAt: *at(ago), Outcome: outcome, AskedBy: asked, Cuts: cuts})
		}
	}
	const within = 10 * time.Minute
	for name, c := range map[string]struct {
		fence *api.NodeFence
		want  time.Duration
	}{
		"no fence":         {nil, within},
		"one that healed":  {finished(), within},
		"one that is open": {finished(func(f *api.NodeFence) { f.Status.Phase = api.Pending }), within},
		"one that is open, after one that cut power":      {finished(past(api.Recovered, 1), func(f *api.NodeFence) { f.Status.Phase = api.Pending }), 5 * time.Minute},
		"one that cut power":                              {finished(func(f *api.NodeFence) { f.Status.Power.Cuts = 1 }), time.Minute},
		"one that was aborted":                            {finished(func(f *api.NodeFence) { f.Status.Outcome = api.Aborted }), time.Minute},
		"one that recovered":                              {finished(func(f *api.NodeFence) { f.Status.Outcome = api.Recovered }), time.Minute},
		"one that reports asked for":                      {finished(func(f *api.NodeFence) { f.Status.Decision.AskedBy = []api.AskedBy{{}} }), time.Minute},
		"one that healed, after one that cut power":       {finished(past(api.Recovered, 1)), 5 * time.Minute},
		"two that healed, after one that cut power":       {finished(past(api.HealedBeforeFence, 1), past(api.HealedBeforeFence, 0)), 5 * time.Minute},
		"one that healed, after one that was asked for":   {finished(past(api.HealedBeforeFence, 1), past(api.HealedBeforeFence, 0, api.PastAskedBy{ID: "1", Source: "/me"})), 4 * time.Minute},
		"one that healed, after one that was joined late": {finished(past(api.HealedBeforeFence, 1), past(api.HealedBeforeFence, 0, api.PastAskedBy{ID: "1", Source: "/me", Served: true})), 5 * time.Minute},
		"one that cut power long ago":                     {finished(func(f *api.NodeFence) { f.Status.Power.Cuts, f.Status.PhaseSince = 1, at(time.Hour) }), within},
	} {
		if got := now.Sub(Lately(c.fence, within, now)); got != c.want {
			t.Errorf("after %s: %s, want %s", name, got, c.want)
		}
	}
}
