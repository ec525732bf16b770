package local

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestARequestThatCanWaitGivesWay waits while the API server is busy, until it is no more or for
// so long at most. Any other request goes at once.
func TestARequestThatCanWaitGivesWay(t *testing.T) {
	for name, c := range map[string]struct {
		underWay int
		canWait  bool
		ends     time.Duration // when one of those under way ends; never if 0
		want     time.Duration
	}{
		"any request":           {busyFrom, false, 0, 0},
		"few are under way":     {busyFrom - 1, true, 0, 0},
		"one of many ends":      {busyFrom, true, time.Second, time.Second},
		"one of too many ends":  {busyFrom + 1, true, time.Second, waitsAtMost},
		"none of the many ends": {busyFrom, true, 0, waitsAtMost},
		"one ends just then":    {busyFrom, true, waitsAtMost, waitsAtMost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlowServer()
				rt := s.traffic.over(s)
				for range c.underWay {
					go func() { _, _ = rt.RoundTrip(request(t.Context(), false)) }()
				}
				synctest.Wait()
				if c.ends > 0 {
					time.AfterFunc(c.ends, func() { s.answers <- true })
				}
				began := time.Now()
				go func() { _, _ = rt.RoundTrip(request(t.Context(), c.canWait)) }()
				for range c.underWay {
					<-s.sent
				}
				<-s.sent
				if waited := time.Since(began); waited != c.want {
					t.Errorf("waited %s, want %s", waited, c.want)
				}
				close(s.all)
				synctest.Wait()
				if s.traffic.underWay != 0 || len(s.traffic.waiting) != 0 {
					t.Errorf("after all have ended, %d are under way and %d wait", s.traffic.underWay, len(s.traffic.waiting))
				}
			})
		})
	}
}

// TestThoseThatWaitGoOneByOne: when one request ends, one goes and not all.
func TestThoseThatWaitGoOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlowServer()
		rt := s.traffic.over(s)
		for range busyFrom {
			go func() { _, _ = rt.RoundTrip(request(t.Context(), false)) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go func() { _, _ = rt.RoundTrip(request(ctx, true)) }()
		}
		synctest.Wait()
		s.answers <- true
		synctest.Wait()
		if n := len(s.sent); n != busyFrom+1 {
			t.Errorf("%d were sent, want %d", n, busyFrom+1)
		}
		cancel() // whoever asked has gone
		synctest.Wait()
		if n := len(s.traffic.waiting); n != 0 {
			t.Errorf("%d wait for nobody", n)
		}
		close(s.all)
	})
}

func TestWhatCanWait(t *testing.T) {
	for eventType, want := range map[string]bool{
		events.OfPhase(api.Pending): false, events.OfPhase(api.Fencing): false, events.OfPhase(api.Releasing): false,
		events.NodeUnhealthy: false, events.RequestFence: false,
		events.OfPhase(api.PoweringOn): true, events.OfPhase(api.Recovering): true, events.NodeCheck: true,
	} {
		if got := canWait(eventType); got != want {
			t.Errorf("%s: %v, want %v", eventType, got, want)
		}
	}
}

// slowServer answers a request when the test lets it.
type slowServer struct {
	traffic traffic
	sent    chan *http.Request
	// answers has one request answered, and all, once closed, has every one.
	answers chan bool
	all     chan struct{}
}

func newSlowServer() *slowServer {
	return &slowServer{sent: make(chan *http.Request, 100), answers: make(chan bool, 1), all: make(chan struct{})}
}

func (s *slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent <- r
	select {
	case <-s.answers:
	case <-s.all:
	}
	return nil, http.ErrServerClosed
}

func request(ctx context.Context, canWait bool) *http.Request {
	if canWait {
		ctx = context.WithValue(ctx, canWaitKey{}, true)
	}
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api", nil)
	return r
}
