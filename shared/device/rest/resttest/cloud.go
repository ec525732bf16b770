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

// State is how a machine is.
type State string

// The states.
const (
	On       State = "on"
	Stopping State = "stopping"
	Off      State = "off"
)

// Cloud is the machine and who serves it.
type Cloud struct {
	// URL of the server.
	URL string
	// API answers. Power is for what has an effect, and Shown for what is told.
	API http.HandlerFunc
	// Command is the word for a request that switches: off, on, or empty.
	Command func(*http.Request) string

	mu       sync.Mutex
	fault    string
	state    State
	commands []string
	heard    []string
	answers  map[string]http.HandlerFunc
	ended    chan struct{}
}

// New is one that is on, and ends with t.
func New(t testing.TB) *Cloud {
	t.Helper()
	c := &Cloud{state: On, answers: map[string]http.HandlerFunc{}, ended: make(chan struct{})}
	srv := httptest.NewServer(c)
	t.Cleanup(func() { close(c.ended); srv.Close() })
	c.URL = srv.URL
	return c
}

// Machine is it, with a fault, to who holds its driver to the contract.
func (c *Cloud) Machine(d device.Driver, fault string) devicetest.Machine {
	c.SetFault(fault)
	return devicetest.Machine{Driver: d, On: c.Runs, Commands: c.Commands, SetFault: c.SetFault, Settle: c.Settle}
}

// ServeHTTP is the API, or what a fault makes of it.
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
		panic(http.ErrAbortHandler) // or it would be a 200 to who is just hanging up
	case c.Is(devicetest.ResetConnection) && c.Command(r) != "":
		c.API(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		c.API(w, r)
	}
}

// SetFault begins with one, and ends the one before.
func (c *Cloud) SetFault(fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
	if fault == devicetest.Stopping {
		c.state = Stopping
	}
}

// Is tells whether one of these faults is played.
func (c *Cloud) Is(faults ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(faults, c.fault)
}

// Answer takes the place of the API for a method and path; nil gives it back.
func (c *Cloud) Answer(request string, do http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[request] = do
}

// Power has the effect of a command that the API took.
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

// Settle brings a machine that is on its way off to its end.
func (c *Cloud) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Stopping {
		c.state = Off
	}
}

// Runs is the truth about the power.
func (c *Cloud) Runs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state != Off
}

// Commands are the words that were taken.
func (c *Cloud) Commands() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.commands)
}

// Heard are the requests since it was asked last.
func (c *Cloud) Heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard := c.heard
	c.heard = nil
	return heard
}

// Sent is how many of these requests there were since it was asked last.
func (c *Cloud) Sent(request string) (n int) {
	for _, h := range c.Heard() {
		if strings.HasPrefix(h, request) {
			n++
		}
	}
	return n
}

// JSON is an answer.
func JSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who went away hears nothing
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
