package apiserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// Sender hands an event to a broker and returns when the broker has it.
type Sender interface {
	Send(ctx context.Context, e event.Event) error
}

// outbox sends each event until the broker has it. Nothing is dropped in
// silence: an event leaves by being sent, or because its fence has moved on.
type outbox struct {
	sender Sender
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	pending map[string]letter

	sent   *prometheus.CounterVec
	failed prometheus.Counter
	length prometheus.GaugeFunc
}

// letter is an event, and whether it is still worth sending.
type letter struct {
	event event.Event
	stale func() bool
}

// senders is how many events are on their way at once.
const senders = 8

func newOutbox(s Sender, log *slog.Logger) *outbox {
	o := &outbox{
		sender: s, log: log, pending: map[string]letter{},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second)),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodefence_source_events_total", Help: "Events that the broker has, by type.",
		}, []string{"type"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nodefence_source_send_failures_total", Help: "Sends that failed and were tried again.",
		}),
	}
	o.length = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "nodefence_source_queue", Help: "Events that wait to be sent.",
	}, func() float64 { o.mu.Lock(); defer o.mu.Unlock(); return float64(len(o.pending)) })
	return o
}

func (o *outbox) put(e event.Event, stale func() bool) {
	o.mu.Lock()
	o.pending[e.ID()] = letter{e, stale}
	o.mu.Unlock()
	o.queue.Add(e.ID())
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
	o.mu.Unlock()
	if !ok || ctx.Err() != nil {
		return true
	}
	e := l.event
	if l.stale != nil && l.stale() {
		o.log.Debug("not sent: its fence has moved on", "type", e.Type(), "node", e.Subject(), "id", id)
		o.done(id)
		return true
	}
	if err := o.sender.Send(ctx, e); err != nil {
		o.failed.Inc()
		o.log.Warn("not sent yet", "type", e.Type(), "node", e.Subject(), "id", id, "error", err.Error())
		o.queue.AddRateLimited(id)
		return true
	}
	o.sent.WithLabelValues(e.Type()).Inc()
	o.log.Info("sent", "type", e.Type(), "node", e.Subject(), "id", id)
	o.done(id)
	return true
}

func (o *outbox) done(id string) {
	o.queue.Forget(id)
	o.mu.Lock()
	delete(o.pending, id)
	o.mu.Unlock()
}
