package report

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// observed returns how many releases are counted under policy p, and their seconds.
func observedReleases(t *testing.T, reg prometheus.Gatherer) (n uint64, seconds float64) {
	t.Helper()
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() != "nodefence_unknown_to_released_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); len(l) != 1 || l[0].GetName() != "policy" || l[0].GetValue() != "p" {
				t.Errorf("labels %v", l)
			}
			n, seconds = n+m.GetHistogram().GetSampleCount(), seconds+m.GetHistogram().GetSampleSum()
		}
	}
	return n, seconds
}

// TestAReleaseIsCountedOnce: from Ready=Unknown to the release of all.
func TestAReleaseIsCountedOnce(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) *api.Time { return &api.Time{Time: start.Add(time.Duration(seconds) * time.Second)} }
	unknown := func(st *api.NodeFenceStatus, status string) {
		st.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: status, Mark: *at(10)}}
	}
	for name, c := range map[string]struct {
		change  func(before, after *api.NodeFenceStatus)
		n       uint64
		seconds float64
	}{
		"Ready is Unknown":               {func(_, st *api.NodeFenceStatus) { unknown(st, "Unknown") }, 1, 50},
		"nodefence set Ready to Unknown": {func(_, st *api.NodeFenceStatus) { st.Release.MarkedAt = at(55) }, 1, 40},
		"Ready is False":                 {func(_, st *api.NodeFenceStatus) { unknown(st, "False") }, 0, 0},
		"a disk is ill":                  {func(_, st *api.NodeFenceStatus) {}, 0, 0},
		"nothing is released":            {func(_, st *api.NodeFenceStatus) { unknown(st, "Unknown"); st.Release.DoneAt = nil }, 0, 0},
		"the release was counted before": {func(was, st *api.NodeFenceStatus) { unknown(st, "Unknown"); was.Release.DoneAt = at(60) }, 0, 0},
		"the release of the fence before": {func(was, st *api.NodeFenceStatus) {
			unknown(st, "Unknown")
			was.Release.DoneAt, was.FenceNumber = at(5), 1
		}, 1, 50},
		"the release took too long":        {func(_, st *api.NodeFenceStatus) { unknown(st, "Unknown"); st.Release.TimedOut = true }, 0, 0},
		"the other clock is an hour ahead": {func(_, st *api.NodeFenceStatus) { unknown(st, "Unknown"); st.Evidence[0].Mark = *at(3600) }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			p := New(slog.New(slog.DiscardHandler), &heard{}, reg)
			f := &api.NodeFence{}
			f.Status.FenceNumber, f.Status.Phase, f.Status.OpenedAt, f.Status.Release.DoneAt = 2, api.PoweringOn, at(20), at(60)
			f.Status.Decision.Policy.Name = "p"
			before := api.NodeFenceStatus{FenceNumber: 2, Phase: api.Releasing}
			c.change(&before, &f.Status)
			p.Decided(context.Background(), Decision{Function: "cleanup", Cause: event.New(), Before: before, Fence: f})
			if n, seconds := observedReleases(t, reg); n != c.n || seconds != c.seconds {
				t.Errorf("%d releases of %v s, want %d of %v s", n, seconds, c.n, c.seconds)
			}
		})
	}
}
