package resttest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
)

// State is the state of a machine.
type State string

// The states.
const (
	On       State = "on"
	Stopping State = "stopping"
	Off      State = "off"
)

// Cloud is the machine and the API that serves it.
type Cloud struct {
	// URL of the server.
	URL string
	// API answers requests. Power returns the power for a state, and Shown the text that is
	// told.
	API http.HandlerFunc
	// Command returns the name of a request that switches: off, on, or empty.
	Command func(*http.Request) string

	mu       sync.Mutex
	fault    string
	state    State
	commands []string
	heard    []string
	answers  map[string]http.HandlerFunc
	ended    chan struct{}
}

// New makes a machine that is on; it ends with t.
func New(t testing.TB) *Cloud {
	t.Helper()
	c := &Cloud{state: On, answers: map[string]http.HandlerFunc{}, ended: make(chan struct{})}
	srv := httptest.NewServer(c)
	t.Cleanup(func() { close(c.ended); srv.Close() })
	c.URL = srv.URL
	return c
}

// Machine is the machine, with a fault, for the contract's suite.
func (c *Cloud) Machine(d device.Driver, fault string) devicetest.Machine {
	c.SetFault(fault)
	return devicetest.Machine{Driver: d, On: c.Runs, Commands: c.Commands, SetFault: c.SetFault, Settle: c.Settle}
}

// ServeHTTP serves the API, or plays a fault.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	request := r.Method + " " + r.URL.Path
	c.heard = append(c.heard, r.Method+" "+r.URL.RequestURI())
	answer := c.answers[request]
	c.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case c.Is(devicetest.Hang):
		devicetest.Silence(r, c.ended)
		panic(http.ErrAbortHandler) // otherwise a client that is hanging up would get a 200
	case c.Is(devicetest.ResetConnection) && c.Command(r) != "":
		c.API(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		c.API(w, r)
	}
}

// SetFault begins a fault, and ends the one before.
func (c *Cloud) SetFault(fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
	if fault == devicetest.Stopping {
		c.state = Stopping
	}
}

// Is reports whether one of these faults is played.
func (c *Cloud) Is(faults ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(faults, c.fault)
}

// Answer replaces the API for a method and path; nil ends this.
func (c *Cloud) Answer(request string, do http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[request] = do
}

// Power has the effect of a command that the API accepted.
func (c *Cloud) Power(word string) {
	slow := c.Is(devicetest.Slow, devicetest.Early, devicetest.Lie)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = append(c.commands, word)
	switch {
	case c.fault == devicetest.AcceptAndIgnore && word == "off":
	case word == "on":
		c.state = On
	case slow:
		c.state = Stopping
	default:
		c.state = Off
	}
}

// Shown is the state that the API tells.
func (c *Cloud) Shown() State {
	pretends := c.Is(devicetest.Early, devicetest.Lie)
	c.mu.Lock()
	defer c.mu.Unlock()
	if pretends && c.state == Stopping {
		return Off
	}
	return c.state
}

// Settle completes the change of a machine's state.
func (c *Cloud) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Stopping {
		c.state = Off
	}
}

// Runs is the true power.
func (c *Cloud) Runs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state != Off
}

// Commands are the accepted commands.
func (c *Cloud) Commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.commands)
}

// Heard returns the requests since its last call.
func (c *Cloud) Heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := c.heard
	c.heard = nil
	return heard
}

// Sent is how many of these requests came since its last call.
func (c *Cloud) Sent(request string) (n int) {
	for _, h := range c.Heard() {
		if strings.HasPrefix(h, request) {
			n++
		}
	}
	return n
}

// JSON writes an answer.
func JSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone hears nothing
}

// Always is a handler with one answer.
func Always(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
