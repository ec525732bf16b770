package devicetest

import (
	"io"
	"net/http"
	"slices"
	"sync"
)

// Fault is the one that a server plays.
type Fault struct {
	mu sync.Mutex
	is string
}

// Play begins with one, and ends the one before.
func (f *Fault) Play(fault string) (was string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, f.is = f.is, fault
	return was
}

// Is tells whether one of these is played.
func (f *Fault) Is(faults ...string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(faults, f.is)
}

// Words are an error's; none if there is none.
func Words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Silence keeps a request without an answer, until its client has gone or the test has
// ended. What writes no answer after it is a success to who is just hanging up.
func Silence(r *http.Request, ended <-chan struct{}) {
	_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
	select {
	case <-r.Context().Done():
	case <-ended:
	}
}
