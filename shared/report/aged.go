package report

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// countedFor is how long the counters of a node are kept after the last report about it,
// the same time as other records of a node that is gone.
const countedFor = 7 * 24 * time.Hour

// aged is a counter by node that drops nodes for which nothing was counted for a long time.
// A function does not hear of deleted nodes, and without this the names of nodes would add
// up without end.
type aged struct {
	*prometheus.CounterVec
	// now is this process's own clock: nothing is decided by it (S30: one clock).
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

func newAged(o prometheus.CounterOpts, labels []string) *aged {
	return &aged{CounterVec: prometheus.NewCounterVec(o, labels), now: time.Now, last: map[string]time.Time{}}
}

// inc counts one event; the first label is the node.
func (a *aged) inc(labels ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	a.WithLabelValues(labels...).Inc()
	a.last[strings.Join(labels, "\x00")] = a.now()
}

// Collect implements prometheus.Collector.
func (a *aged) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	a.CounterVec.Collect(ch)
}

// forget drops old counters. The caller holds the lock.
func (a *aged) forget() {
	for labels, at := range a.last {
		if a.now().Sub(at) > countedFor {
			a.DeleteLabelValues(strings.Split(labels, "\x00")...)
			delete(a.last, labels)
		}
	}
}
