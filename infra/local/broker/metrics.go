package broker

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	registry   prometheus.Registerer
	registered []prometheus.Collector

	published  *prometheus.CounterVec
	deliveries *prometheus.CounterVec
	dead       *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		registry: registry,
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_broker_published_total",
			Help: "Events offered to the local broker, by result.",
		}, []string{"result"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_broker_deliveries_total",
			Help: "Events handled, by trigger and result.",
		}, []string{"trigger", "result"}),
		dead: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_broker_dead_letters_total",
			Help: "Events given up, by trigger.",
		}, []string{"trigger"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nodefence_broker_handler_seconds",
			Help: "Time from an event's delivery to its stored reply, by trigger.",
		}, []string{"trigger"}),
	}
	if registry == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.published, m.deliveries, m.dead, m.seconds} {
		if err := registry.Register(c); err != nil {
			m.unregister()
			return nil, fmt.Errorf("register metrics: %w", err)
		}
		m.registered = append(m.registered, c)
	}
	return m, nil
}

// unregister lets a process start a second broker.
func (m *metrics) unregister() {
	for _, c := range m.registered {
		m.registry.Unregister(c)
	}
}
