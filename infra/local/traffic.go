package local

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
)

// traffic has requests that can wait give way to the others while the API server is busy. When
// many nodes fail at once, the API server is what limits how soon they are fenced. So to bring a
// machine back, or to read the device of a healthy node, waits for the Offs and releases of others.
type traffic struct {
	mu sync.Mutex
	// underWay is how many requests the API server has not answered yet.
	underWay int
	// waiting are the requests that give way, the oldest first. Each goes once its channel is
	// closed.
	waiting []chan struct{}
}

const (
	// busyFrom is how many requests under way are so many that others give way to them. One
	// fence has fewer.
	busyFrom = 8
	// waitsAtMost is how long a request gives way. It is short beside what a claim of a device
	// lasts, and so long that requests that give way are few among the others.
	waitsAtMost = 2 * time.Second
)

type canWaitKey struct{}

// canWait tells whether an event is about bringing a machine back, or about the device of a
// healthy node.
func canWait(eventType string) bool {
	switch p, _ := events.PhaseOf(eventType); p {
	case api.PoweringOn, api.Restoring, api.Recovering:
		return true
	}
	return eventType == events.NodeCheck || eventType == events.NodeCheckIsolation
}

// marked marks the requests of a handler for an event that can wait.
func marked(h run.Handler) run.Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		if canWait(e.Type()) {
			ctx = context.WithValue(ctx, canWaitKey{}, true)
		}
		return h(ctx, e)
	}
}

// over counts the requests that next carries.
func (t *traffic) over(next http.RoundTripper) http.RoundTripper { return counted{t, next} }

type counted struct {
	*traffic
	next http.RoundTripper
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.begin(r.Context())
	defer c.end()
	return c.next.RoundTrip(r)
}

// begin counts a request. One that can wait is counted once it need not wait any more, or has
// waited for long enough.
func (t *traffic) begin(ctx context.Context) {
	t.mu.Lock()
	if ctx.Value(canWaitKey{}) == nil || t.underWay < busyFrom {
		t.underWay++
		t.mu.Unlock()
		return
	}
	goes := make(chan struct{})
	t.waiting = append(t.waiting, goes)
	t.mu.Unlock()
	enough := time.NewTimer(waitsAtMost)
	defer enough.Stop()
	select {
	case <-goes:
		return // end has counted it
	case <-enough.C:
	case <-ctx.Done(): // its own request says so
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leave(goes) {
		return // end was faster, and has counted it
	}
	t.underWay++
}

// leave takes a request off those that wait, and tells whether it was among them.
func (t *traffic) leave(goes chan struct{}) bool {
	for i, w := range t.waiting {
		if w == goes {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// end counts a request no more, and lets one go that waits.
func (t *traffic) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay--
	if len(t.waiting) > 0 && t.underWay < busyFrom {
		close(t.waiting[0])
		t.waiting = t.waiting[1:]
		t.underWay++
	}
}
