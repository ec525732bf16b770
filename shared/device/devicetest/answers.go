package devicetest

import (
	"io"
	"net/http"
	"slices"
	"sync"
)

// Fault is the fault that a server plays.
type Fault struct {
	mu sync.Mutex
	is string
}

// Play starts a fault, and ends the one before.
func (f *Fault) Play(fault string) (was string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, f.is = f.is, fault
	return was
}

// Is reports whether one of these faults is played.
func (f *Fault) Is(faults ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(faults, f.is)
}

// Words is an error's text; empty without an error.
func Words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Silence leaves a request without an answer, until its client has gone or the test has
// ended. The caller must still write a failure: a handler that just returns sends 200.
func Silence(r *http.Request, ended <-chan struct{}) {
	_, _ = io.Copy(io.Discard, r.Body) // only after this read does the server see that the client has gone
	select {
	case <-r.Context().Done():
	case <-ended:
	}
}
