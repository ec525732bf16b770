package mirror

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

var (
	unauthorized = status(401, metav1.StatusReasonUnauthorized, "Unauthorized")
	forbidden    = status(403, metav1.StatusReasonForbidden, `nodes is forbidden: User "carol" cannot list resource "nodes" in API group "" at the cluster scope`)
	broken       = status(500, metav1.StatusReasonInternalError, "etcdserver: no leader")
	expired      = status(410, metav1.StatusReasonExpired, "too old resource version: 1 (9)")
	gone         = status(410, metav1.StatusReasonGone, "the resource version is gone")
)

// TestWhatIsRefusedIsAGap, with words on what to do, until it is granted: nothing unread looks empty.
func TestWhatIsRefusedIsAGap(t *testing.T) {
	for name, c := range map[string]struct {
		refusal *metav1.Status
		words   string
	}{
		"nobody is known":    {unauthorized, "the API server does not know who you are"},
		"no right":           {forbidden, "you may not do that"},
		"the server fails":   {broken, "etcdserver: no leader"},
		"the kind is absent": {status(404, metav1.StatusReasonNotFound, "the server could not find the requested resource"), "not installed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := follows(t, func(s *server) { s.list = c.refusal })
			began := time.Now()
			s.until("refused", func() bool { return s.gap() != nil && s.gap().Why != "" })
			g := s.gap()
			if !g.Unread || !strings.Contains(g.Words(), c.words) || g.Since.After(began) || g.Since.IsZero() {
				t.Errorf("%+v: %s", g, g.Words())
			}
			s.turns(nil, nil, nil, "a")
			s.until("granted", func() bool { return len(s.Gaps()) == 0 && s.sees() == "a" })
		})
	}
}

// TestThePodsOfAPageThatIsOpen are followed while it is seen or not, with those that have gone meanwhile, and no
// longer. A page that is not seen begins nothing.
func TestThePodsOfAPageThatIsOpen(t *testing.T) {
	t.Parallel()
	s := follows(t, func(*server) {})
	began := time.Now()
	s.until("begun", func() bool { _, _ = s.Pods("a", began); return s.pods["a"] != nil })
	s.pods["a"].went(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0"}})
	s.Keep("a", began.Add(2*time.Minute))
	s.Keep("b", began.Add(2*time.Minute))
	s.Forget(began.Add(time.Minute))
	if s.pods["b"] != nil {
		t.Error("a page that is not seen has begun to follow pods")
	}
	if all, _ := s.Pods("a", began); len(all) != 1 || all[0].Name != "db-0" || all[0].Gone.IsZero() {
		t.Errorf("while the page was open these have gone: %+v", all)
	}
	s.Forget(began.Add(time.Minute))
	if s.pods["a"] != nil {
		t.Error("the pods are followed for a page that nobody has open")
	}
}

// TestAWatchThatIsRefused: what was read is kept, and a gap says why it is not as it is now, and since when,
// though the reason changes meanwhile and lists are answered.
func TestAWatchThatIsRefused(t *testing.T) {
	t.Parallel()
	var flaps atomic.Int32
	var refused atomic.Bool
	s := follows(t, func(s *server) {
		s.names = []string{"a"}
		s.asks = func(bool) {
			if refused.Load() && s.gap() == nil {
				flaps.Add(1)
			}
		}
	})
	s.until("read", func() bool { return s.gap() == nil && s.sees() == "a" })
	before := time.Now()
	s.turns(nil, forbidden, nil, "a", "b")
	s.until("refused", func() bool { return s.gap() != nil })
	refused.Store(true)
	g := s.gap()
	if g.Unread || !strings.Contains(g.Why, "you may not do that") || g.Since.Before(before) {
		t.Errorf("%+v", g)
	}
	lists := s.listed()
	s.until("listed again", func() bool { return s.listed() > lists+1 && s.sees() == "a b" })
	s.turns(nil, unauthorized, nil, "a", "b")
	s.until("refused for another reason", func() bool { return s.gap() != nil && strings.Contains(s.gap().Why, "log in again") })
	if now := s.gap(); !now.Since.Equal(g.Since) {
		t.Errorf("the gap began at %s, and now says %s", g.Since, now.Since)
	}
	if n := flaps.Load(); n > 0 {
		t.Errorf("the gap was away %d times while the watch was refused", n)
	}
	refused.Store(false)
	s.turns(nil, nil, nil, "b")
	s.until("followed again", func() bool { return s.gap() == nil && s.sees() == "b" })
}

// TestAWatchThatEndsAsWatchesDo is no gap: it was closed, or the version from which it was to go on is too
// old, and the mirror lists anew.
func TestAWatchThatEndsAsWatchesDo(t *testing.T) {
	for name, c := range map[string]struct {
		watch, event *metav1.Status
		lists        bool
	}{
		"closed":                       {nil, nil, false},
		"expired while it stood":       {nil, expired, true},
		"gone while it stood":          {nil, gone, true},
		"expired when it was to go on": {expired, nil, true},
		"gone when it was to go on":    {gone, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ended, told, asked atomic.Int32
			s := follows(t, func(s *server) {
				s.names = []string{"a"}
				s.asks = func(bool) {
					if ended.Load() > 0 {
						asked.Add(1)
						if g := s.gap(); g != nil && g.Why != "" {
							told.Add(1)
						}
					}
				}
			})
			s.until("read", func() bool { return s.gap() == nil && s.sees() == "a" })
			s.until("watched", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.open) > 0 })
			lists := s.listed()
			ended.Add(1)
			s.turns(nil, c.watch, c.event, "a", "b")
			if c.lists {
				s.until("listed anew", func() bool { return s.listed() > lists && s.sees() == "a b" })
			}
			s.turns(nil, nil, nil, "a", "b")
			s.until("watched again", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.open) > 0 && asked.Load() > 0 })
			if n := told.Load(); n > 0 || s.gap() != nil {
				t.Errorf("a gap was told %d times; it is %+v", n, s.gap())
			}
		})
	}
}

// TestNothingIsLogged by client-go, whose lines would stand between those of status -w.
func TestNothingIsLogged(t *testing.T) { // not beside other tests: klog is one for all
	var said logged
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(&said, nil)))
	t.Cleanup(klog.ClearLogger)
	s := follows(t, func(s *server) { s.names = []string{"a"} })
	s.until("watched", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.open) > 0 })
	s.turns(nil, nil, forbidden, "a", "b")
	s.until("listed anew", func() bool { return s.sees() == "a b" })
	said.mu.Lock()
	defer said.mu.Unlock()
	if said.Len() > 0 {
		t.Error(said.String())
	}
}

// logged is what was logged.
type logged struct {
	mu sync.Mutex
	strings.Builder
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(line)
}
