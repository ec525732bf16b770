package local

import (
	"context"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
)

// traffic has events that can wait give way to the others while the API server is busy. When many
// nodes fail at once, the API server is what limits how soon they are fenced. So what brings
// machines back, and reads of healthy nodes' devices, wait for the Offs and releases of others.
//
// A handler gives way before it begins, and never in between: it holds no claim and no slot then.
type traffic struct {
	mu sync.Mutex
	// underWay is how many requests the API server has not answered yet, those of handlers that
	// gave way left out.
	underWay int
	// running are the handlers that gave way, and have begun.
	running int
	// waiting are the handlers that give way, the oldest first. Each begins once its channel is
	// closed.
	waiting []chan struct{}
}

const (
	// busyFrom is how many requests under way, and handlers beside them that gave way before,
	// are so many that handlers give way. The steps of one fence send fewer requests at once.
	busyFrom = 8
	// waitsAtMost is how long a handler gives way. It is long beside the second that the
	// requests of a handler take on a busy API server, so that those that give way are few
	// among the others.
	waitsAtMost = 10 * time.Second
)

type gaveWayKey struct{}

// canWait tells whether an event is of a phase that gives back what was taken, such as power, of the end of a fence, or
// about the device of a healthy node.
func canWait(eventType string) bool {
	switch p, _ := events.PhaseOf(eventType); p {
	case api.PoweringOn, api.Restoring, api.Recovering:
		return true
	}
	return eventType == events.NodeCheck || eventType == events.NodeCheckIsolation || eventType == events.FenceReported
}

// givesWay has a handler give way where its event can wait.
func (t *traffic) givesWay(h run.Handler) run.Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		if canWait(e.Type()) {
			t.wait(ctx)
			defer t.done()
			ctx = context.WithValue(ctx, gaveWayKey{}, true)
		}
		return h(ctx, e)
	}
}

// givingWay are these handlers, each of which gives way where its event can wait.
func (t *traffic) givingWay(handlers map[string]run.Handler) map[string]run.Handler {
	all := map[string]run.Handler{}
	for name, h := range handlers {
		all[name] = t.givesWay(h)
	}
	return all
}

// room is how many more handlers may begin. Where nothing is under way, nobody is given way to.
func (t *traffic) room() int {
	if t.underWay == 0 {
		return math.MaxInt
	}
	return busyFrom - t.underWay - t.running
}

// wait returns once there is room, or after the longest wait. The handler is running then.
func (t *traffic) wait(ctx context.Context) {
	t.mu.Lock()
	if t.room() > 0 {
		t.running++
		t.mu.Unlock()
		return
	}
	begins := make(chan struct{})
	t.waiting = append(t.waiting, begins)
	t.mu.Unlock()
	enough := time.NewTimer(waitsAtMost)
	defer enough.Stop()
	select {
	case <-begins:
		return
	case <-enough.C:
	case <-ctx.Done(): // the handler's first request says so
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.waiting)
	t.waiting = slices.DeleteFunc(t.waiting, func(w chan struct{}) bool { return w == begins })
	t.running += before - len(t.waiting) // none if it was let begin at the same moment, and is counted
}

// done ends a handler that gave way.
func (t *traffic) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.letBegin()
}

// letBegin has as many handlers begin as there is room for.
func (t *traffic) letBegin() {
	for len(t.waiting) > 0 && t.room() > 0 {
		close(t.waiting[0])
		t.waiting = t.waiting[1:]
		t.running++
	}
}

// counted counts the requests that next carries, unless their handler gave way.
func (t *traffic) counted(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if r.Context().Value(gaveWayKey{}) == nil {
			t.begin()
			defer t.end()
		}
		return next.RoundTrip(r)
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (t *traffic) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay++
}

func (t *traffic) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay--
	t.letBegin()
}
