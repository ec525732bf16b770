package local

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/run"
)

// TestAnEventThatCanWaitGivesWay while the API server is busy, until it is no more or for so long
// at most. Any other event is handled at once.
func TestAnEventThatCanWaitGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		underWay int
		event    string
		ends     time.Duration // when one of the requests under way ends; never if 0
		want     time.Duration
	}{
		"any event":             {busyFrom, events.OfPhase(api.Fencing), 0, 0},
		"few are under way":     {busyFrom - 1, events.OfPhase(api.Recovering), 0, 0},
		"one of many ends":      {busyFrom, events.OfPhase(api.Recovering), time.Second, time.Second},
		"one of too many ends":  {busyFrom + 1, events.OfPhase(api.Recovering), time.Second, waitsAtMost},
		"none of the many ends": {busyFrom, events.OfPhase(api.Recovering), 0, waitsAtMost},
		"one ends just then":    {busyFrom, events.OfPhase(api.Recovering), waitsAtMost, waitsAtMost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowServer(t, c.underWay)
				if c.ends > 0 {
					time.AfterFunc(c.ends, func() { s.answers <- true })
				}
				began := time.Now()
				s.handle(t.Context(), c.event)
				if waited := time.Since(began); waited != c.want {
					t.Errorf("waited %s, want %s", waited, c.want)
				}
				close(s.all)
				synctest.Wait()
				if n := &s.traffic; n.underWay != 0 || n.running != 0 || len(n.waiting) != 0 {
					t.Errorf("after all have ended, %d are under way, %d run, and %d wait", n.underWay, n.running, len(n.waiting))
				}
			})
		})
	}
}

// TestThoseThatWaitBeginOneByOne: as many as there is room for, all once nothing is under way, and
// none for whom nobody waits any more.
func TestThoseThatWaitBeginOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowServer(t, busyFrom)
		ctx, cancel := context.WithCancel(t.Context())
		long := s.traffic.givesWay(func(context.Context, event.Event) (*event.Event, error) { <-s.ends; return nil, nil })
		for range 50 {
			go func() { _, _ = long(t.Context(), ofType(events.OfPhase(api.PoweringOn))) }()
		}
		go s.handle(ctx, events.OfPhase(api.PoweringOn))
		synctest.Wait()
		cancel()
		synctest.Wait()
		if n := len(s.traffic.waiting); n != 50 {
			t.Errorf("%d wait, want 50", n)
		}
		s.answers <- true
		synctest.Wait()
		if n := len(s.traffic.waiting); n != 49 {
			t.Errorf("one request has ended, and %d wait, want 49", n)
		}
		s.answers <- true
		s.ends <- true
		synctest.Wait()
		if n := len(s.traffic.waiting); n != 47 {
			t.Errorf("another has ended, and so has a handler, and %d wait, want 47", n)
		}
		close(s.all)
		synctest.Wait()
		if n := len(s.traffic.waiting); n != 0 {
			t.Errorf("nothing is under way, and %d wait", n)
		}
		close(s.ends)
	})
}

// TestWhatGaveWayIsNotCounted: it waits for others, and not for its own kind.
func TestWhatGaveWayIsNotCounted(t *testing.T) {
	for eventType, want := range map[string]int{events.OfPhase(api.Recovering): 0, events.OfPhase(api.Fencing): 1} {
		var s traffic
		got := -1
		rt := s.counted(transport(func(*http.Request) (*http.Response, error) { got = s.underWay; return nil, http.ErrServerClosed }))
		handlers := s.givingWay(map[string]run.Handler{"any": func(ctx context.Context, _ event.Event) (*event.Event, error) {
			_, err := rt.RoundTrip(request(ctx))
			return nil, err
		}})
		_, _ = handlers["any"](t.Context(), ofType(eventType))
		if got != want || s.underWay != 0 {
			t.Errorf("%s: %d under way during its request, want %d; %d after it", eventType, got, want, s.underWay)
		}
	}
}

func TestWhatCanWait(t *testing.T) {
	can := map[string]bool{events.NodeCheck: true, events.NodeCheckIsolation: true, events.FenceReported: true}
	for _, p := range []api.Phase{api.PoweringOn, api.Restoring, api.Recovering} {
		can[events.OfPhase(p)] = true
	}
	for _, eventType := range events.OwnTypes() {
		if got := canWait(eventType); got != can[eventType] {
			t.Errorf("%s: %v", eventType, got)
		}
	}
}

// slowServer answers a request when the test lets it.
type slowServer struct {
	traffic traffic
	// answers has one request answered, and all, once closed, has every one.
	answers chan bool
	all     chan struct{}
	// ends has one long handler end.
	ends chan bool
}

// newSlowServer has so many requests under way.
func newSlowServer(t *testing.T, underWay int) *slowServer {
	s := &slowServer{answers: make(chan bool, 1), all: make(chan struct{}), ends: make(chan bool)}
	rt := s.traffic.counted(transport(func(*http.Request) (*http.Response, error) {
		select {
		case <-s.answers:
		case <-s.all:
		}
		return nil, http.ErrServerClosed
	}))
	for range underWay {
		go func() { _, _ = rt.RoundTrip(request(t.Context())) }()
	}
	synctest.Wait()
	return s
}

// handle returns once an event is handled.
func (s *slowServer) handle(ctx context.Context, eventType string) {
	none := func(context.Context, event.Event) (*event.Event, error) { return nil, nil }
	_, _ = s.traffic.givesWay(none)(ctx, ofType(eventType))
}

func ofType(eventType string) event.Event {
	e := event.New()
	e.SetType(eventType)
	return e
}

func request(ctx context.Context) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api", nil)
	return r
}
