package report

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// releaseBuckets are from 5 s, a quick device and few pods, to an hour.
var releaseBuckets = []float64{5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600}

func newReleased() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "nodefence_unknown_to_released_seconds",
		Help:    "How long it took from Ready=Unknown until all work of the node was released, by deciding policy. Where nodefence itself set Ready to Unknown, from the opening of the fence.",
		Buckets: releaseBuckets,
	}, []string{"policy"})
}

// countRelease observes a release once, with the save that ends the release.
func (p *Publisher) countRelease(d Decision) {
	st := &d.Fence.Status
	if st.Release.DoneAt == nil || st.Release.TimedOut || d.Before.Release.DoneAt != nil && d.Before.FenceNumber == st.FenceNumber {
		return
	}
	if lost := lostAt(st); lost != nil {
		p.metrics.released.WithLabelValues(st.Decision.Policy.Name).Observe(max(0, st.Release.DoneAt.Sub(lost.Time).Seconds()))
	}
}

// lostAt is when Ready became Unknown, by the condition's own time; nil where the condition is not Unknown. The opening of
// the fence counts where nodefence set the condition.
func lostAt(st *api.NodeFenceStatus) *api.Time {
	for i := range st.Evidence {
		e := &st.Evidence[i]
		if e.Type == api.TriggerNodeCondition && e.Condition == string(corev1.NodeReady) && e.Status == string(corev1.ConditionUnknown) {
			return &e.Mark
		}
	}
	if st.Release.MarkedAt != nil {
		return st.OpenedAt
	}
	return nil
}
