package outbox

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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

// Outbox tries to send each event until the broker has it. No event is lost silently: an
// event leaves the outbox when it is sent, when its fence has moved on, or when a newer
// wake-up says the same. While a broker is away, the outbox holds one wake-up for each
// subject, however often it came due.
type Outbox struct {
	sender Sender
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[string]

	mu      sync.Mutex
	pending map[string]Letter
	newest  map[string]string
	// among has the IDs of those that wait, by Among, oldest first.
	among map[string][]string
	sends bool // Run runs, and is not asked to end

	sent   *prometheus.CounterVec
	failed prometheus.Counter
	length prometheus.GaugeFunc
}

// Letter is an event, and whether it is still worth sending.
type Letter struct {
	// Event is what is sent.
	Event event.Event
	// About names what the event wakes. If it is set, only the newest event about it is
	// sent.
	About string
	// Among names those of which at most mostAmong wait: the oldest of them is dropped for a newer one.
	// It is for events that others may cause without end, and that a resync sends again if they
	// matter (S19).
	Among string
	// Counted, if set, is closed once the ledger's census has what the event tells of.
	Counted <-chan struct{}
	// Stale, if set, reports that the event need not be sent any more.
	Stale func() bool
}

const (
	// mostAmong is how many letters of one Among wait.
	mostAmong = 128
	// senders is how many events are on their way at once. A synchronous channel of Knative
	// answers only when the function has answered, so a device that hangs holds one sender
	// up.
	senders = 128
	// sendTimeout bounds one try: a broker that takes an event and does not answer must not
	// hold the other events up.
	sendTimeout = 10 * time.Second
	// censusWait bounds how long an event waits for the census that has its change.
	censusWait = time.Second
)

// New returns an empty outbox that sends to s. It logs each event that is sent, dropped or tried
// again.
func New(s Sender, log *slog.Logger) *Outbox {
	o := &Outbox{
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
	}, o.waits)
	o.Empty()
	return o
}

// waits is how many events wait to be sent. A standby sends none, and what it had left is sent by
// whoever leads.
func (o *Outbox) waits() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sends {
		return 0
	}
	return float64(len(o.pending))
}

// Metrics returns how many events were sent by type, how many sends failed, and how many events
// wait.
func (o *Outbox) Metrics() []prometheus.Collector {
	return []prometheus.Collector{o.sent, o.failed, o.length}
}

// Empty clears the outbox before each run. The next leader sends again what still holds.
func (o *Outbox) Empty() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pending, o.newest, o.among = map[string]Letter{}, map[string]string{}, map[string][]string{}
	o.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second))
}

// Put adds an event to those that are sent. It does not wait. An event with the same ID replaces
// the one that waits.
func (o *Outbox) Put(l Letter) {
	id := l.Event.ID()
	o.mu.Lock()
	_, waits := o.pending[id]
	o.pending[id] = l
	if l.About != "" {
		o.newest[l.About] = id
	}
	if l.Among != "" && !waits {
		o.makeRoomLocked(l)
	}
	o.mu.Unlock()
	o.queue.Add(id)
}

// makeRoomLocked notes a letter among those of its kind, and drops the oldest of too many.
func (o *Outbox) makeRoomLocked(l Letter) {
	all := append(o.among[l.Among], l.Event.ID())
	if len(all) > mostAmong {
		o.dropLocked(o.pending[all[0]], all[0])
		all = all[1:]
		o.log.Debug("event dropped: too many of its kind wait", "kind", l.Among)
	}
	o.among[l.Among] = all
}

// dropLocked forgets a letter.
func (o *Outbox) dropLocked(l Letter, id string) {
	delete(o.pending, id)
	if o.newest[l.About] == id {
		delete(o.newest, l.About)
	}
}

// Waiting returns the letters that were neither sent nor dropped yet, in the order of their
// events' IDs.
func (o *Outbox) Waiting() []Letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []Letter
	for _, id := range slices.Sorted(maps.Keys(o.pending)) {
		all = append(all, o.pending[id])
	}
	return all
}

// Run sends until ctx ends. What waits then is not sent any more: after it, only Empty makes the
// outbox usable again.
func (o *Outbox) Run(ctx context.Context) {
	var wg sync.WaitGroup
	o.say(true)
	for range senders {
		wg.Go(func() {
			for o.SendNext(ctx) {
			}
		})
	}
	<-ctx.Done()
	o.say(false)
	o.queue.ShutDown()
	wg.Wait()
}

// say notes whether events are sent.
func (o *Outbox) say(sends bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sends = sends
}

// SendNext waits for the next event and tries to send it once. It returns false when Run has
// ended. If the try fails, the event is tried again after a while.
func (o *Outbox) SendNext(ctx context.Context) bool {
	id, down := o.queue.Get()
	if down {
		return false
	}
	defer o.queue.Done(id)
	o.mu.Lock()
	l, ok := o.pending[id]
	old := l.About != "" && o.newest[l.About] != id
	o.mu.Unlock()
	if !ok || ctx.Err() != nil {
		return true
	}
	if l.Counted != nil {
		awaitCensus(ctx, l.Counted)
	}
	e := l.Event
	log := o.log.With("type", e.Type(), "node", e.Subject(), "event", id)
	if uid, ok := e.Extensions()[events.CorrelationID]; ok {
		log = log.With("fence", uid)
	}
	if old || l.Stale != nil && l.Stale() {
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

func (o *Outbox) done(l Letter) {
	id := l.Event.ID()
	o.queue.Forget(id)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropLocked(l, id)
	if l.Among == "" {
		return
	}
	if o.among[l.Among] = slices.DeleteFunc(o.among[l.Among], func(is string) bool { return is == id }); len(o.among[l.Among]) == 0 {
		delete(o.among, l.Among)
	}
}

// awaitCensus waits until the ledger has a change, but for no longer than censusWait: what is
// to be said of the change is said all the same.
func awaitCensus(ctx context.Context, there <-chan struct{}) {
	t := time.NewTimer(censusWait)
	defer t.Stop()
	select {
	case <-there:
	case <-t.C:
	case <-ctx.Done():
	}
}
