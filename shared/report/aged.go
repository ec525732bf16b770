package report

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// countedFor is how long a node is counted that nothing was told of any more, as long as
// what else is known of one that is gone.
const countedFor = 7 * 24 * time.Hour

// aged is a counter by node, of which a node goes again of which nothing was counted for
// long. A function hears of no node that is deleted, and the names of nodes that come and
// go have no end.
type aged struct {
	*prometheus.CounterVec
	// now is this process's own clock: nothing is decided by it (S30).
	now func() time.Time

	mu   sync.Mutex
	last map[string]time.Time
}

func newAged(o prometheus.CounterOpts, labels []string) *aged {
	return &aged{CounterVec: prometheus.NewCounterVec(o, labels), now: time.Now, last: map[string]time.Time{}}
}

// inc counts one; the first label is the node.
func (a *aged) inc(labels ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	a.WithLabelValues(labels...).Inc()
	a.last[strings.Join(labels, "\x00")] = a.now()
}

// Collect is prometheus.Collector's.
func (a *aged) Collect(ch chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	a.CounterVec.Collect(ch)
}

// forget drops what is too old; called with the lock held.
func (a *aged) forget() {
	for labels, at := range a.last {
		if a.now().Sub(at) > countedFor {
			a.DeleteLabelValues(strings.Split(labels, "\x00")...)
			delete(a.last, labels)
		}
	}
}
