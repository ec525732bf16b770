package knative

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// seen is one request that a sink got.
type seen struct {
	Type, ID, Subject string
	Header            http.Header
	Body              string
	At                time.Time
}

// sink is a subscriber or a dead-letter sink that remembers what it got.
type sink struct {
	*httptest.Server
	// answer writes the response; nil answers 202.
	answer http.HandlerFunc

	mu  sync.Mutex
	all []seen
}

func newSink(t *testing.T, answer http.HandlerFunc) *sink {
	t.Helper()
	s := &sink{answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *sink) addr() string { return strings.TrimPrefix(s.URL, "http://") }

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.all = append(s.all, seen{
		Type: r.Header.Get("Ce-Type"), ID: r.Header.Get("Ce-Id"), Subject: r.Header.Get("Ce-Subject"),
		Header: r.Header.Clone(), Body: string(body), At: time.Now(),
	})
	s.mu.Unlock()
	if s.answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(w, r)
}

func (s *sink) got() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.all...)
}

// ids counts how often each event came, probes left out.
func (s *sink) ids() map[string]int {
	n := map[string]int{}
	for _, e := range s.got() {
		if !strings.HasPrefix(e.ID, probe) {
			n[e.ID]++
		}
	}
	return n
}

// find is the first request with an event of that ID.
func (s *sink) find(id string) seen {
	for _, e := range s.got() {
		if e.ID == id {
			return e
		}
	}
	return seen{}
}
