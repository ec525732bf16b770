package apiserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"github.com/nodefence/nodefence/events"
)

// Sender hands an event to a broker, and returns when the broker has it.
type Sender interface {
	Send(ctx context.Context, e event.Event) error
}

// outbox tries to send each event until the broker has it. No event is lost silently: an
// event leaves the outbox when it is sent, when its fence has moved on, or when a newer
// wake-up says the same. While a broker is away, the outbox holds one wake-up for each
// subject, however often it came due.
type outbox struct {
	sender Sender
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	pending map[string]letter
	newest  map[string]string

	sent   *prometheus.CounterVec
	failed prometheus.Counter
	length prometheus.GaugeFunc
}

// letter is an event, and whether it is still worth sending.
type letter struct {
	event event.Event
	// about names what the event wakes. If it is set, only the newest event about it is
	// sent.
	about string
	// counted, if set, is closed once the ledger's census has what the event tells of.
	counted <-chan struct{}
	// stale, if set, reports that the event need not be sent any more.
	stale func() bool
}

const (
	// senders is how many events are on their way at once. A synchronous channel of Knative
	// answers only when the function has answered, so a device that hangs holds one sender
	// up.
	senders = 128
	// sendTimeout bounds one try: a broker that takes an event and does not answer must not
	// hold the other events up.
	sendTimeout = 10 * time.Second
)

func newOutbox(s Sender, log *slog.Logger) *outbox {
	o := &outbox{
		sender: s, log: log,
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_source_events_total", Help: "Events that the broker accepted, by type.",
		}, []string{"type"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nodefence_source_send_failures_total", Help: "Sends that failed and were tried again.",
		}),
	}
	o.length = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodefence_source_queue", Help: "Events that wait to be sent.",
	}, func() float64 { o.mu.Lock(); defer o.mu.Unlock(); return float64(len(o.pending)) })
	o.empty()
	return o
}

// empty clears the outbox before each run. The next leader sends again what still holds.
func (o *outbox) empty() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending, o.newest = map[string]letter{}, map[string]string{}
	o.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second))
}

func (o *outbox) put(l letter) {
	id := l.event.ID()
	o.mu.Lock()
	o.pending[id] = l
	if l.about != "" {
		o.newest[l.about] = id
	}
	o.mu.Unlock()
	o.queue.Add(id)
}

// run sends until ctx ends.
func (o *outbox) run(ctx context.Context) {
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for o.sendNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	o.queue.ShutDown()
	wg.Wait()
}

func (o *outbox) sendNext(ctx context.Context) bool {
	id, down := o.queue.Get()
	if down {
		return false
	}
	defer o.queue.Done(id)
	o.mu.Lock()
	l, ok := o.pending[id]
	old := l.about != "" && o.newest[l.about] != id
	o.mu.Unlock()
	if !ok || ctx.Err() != nil {
		return true
	}
	if l.counted != nil {
		awaitCensus(ctx, l.counted)
	}
	e := l.event
	log := o.log.With("type", e.Type(), "node", e.Subject(), "event", id)
	if uid, ok := e.Extensions()[events.CorrelationID]; ok {
		log = log.With("fence", uid)
	}
	if old || l.stale != nil && l.stale() {
		log.Debug("event dropped: its fence has moved on, or a newer event says the same")
		o.done(l)
		return true
	}
	try, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := o.sender.Send(try, e); err != nil {
		o.failed.Inc()
		log.Warn("cannot send an event; trying again", "error", err.Error())
		o.queue.AddRateLimited(id)
		return true
	}
	o.sent.WithLabelValues(e.Type()).Inc()
	log.Info("sent")
	o.done(l)
	return true
}

func (o *outbox) done(l letter) {
	id := l.event.ID()
	o.queue.Forget(id)
	o.mu.Lock()
	delete(o.pending, id)
	if o.newest[l.about] == id {
		delete(o.newest, l.about)
	}
	o.mu.Unlock()
}
