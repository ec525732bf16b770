package chaos

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/nodefence/nodefence/shared/device"
)

// errDead is the error of every call that a process makes after it was cut.
var errDead = errors.New("this process has died")

// cut ends a process at one of its calls to the outside: calls to the API server and to the
// device, counted together. Lost is which half of the call is lost.
type cut struct {
	mu    sync.Mutex
	at    int
	lost  half
	count int
	dead  bool
	// calls are the calls of the first process, which is not cut.
	calls []call
}

type half bool

// A call that is cut either never arrives, or arrives and its answer is lost.
const (
	request half = false
	answer  half = true
)

type call struct {
	name string
	// writes: the call changes something, so that both halves matter.
	writes bool
}

// enter counts a call, and returns whether it may proceed and whether its answer is lost.
func (c *cut) enter(name string, writes bool) (dead, loseAnswer bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return true, false
	}
	c.count++
	c.calls = append(c.calls, call{name, writes})
	if c.count != c.at {
		return false, false
	}
	c.dead = true
	return c.lost == request, c.lost == answer
}

// die ends the process between two calls: none that it makes from now on arrives.
func (c *cut) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

func (c *cut) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// transport is the process's way to the API server.
func (c *cut) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		dead, lose := c.enter(r.Method+" "+r.URL.Path, r.Method != http.MethodGet)
		if dead {
			return nil, errDead
		}
		resp, err := next.RoundTrip(r)
		if lose {
			if err == nil {
				_ = resp.Body.Close()
			}
			return nil, errDead
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// kind is the process's way to devices.
func (c *cut) kind(k device.Kind) device.Kind {
	open := k.Open
	k.Open = func(p map[string]string) (device.Driver, error) {
		d, err := open(p)
		return &driver{d, c}, err
	}
	return k
}

type driver struct {
	device.Driver
	cut *cut
}

func (d *driver) State(ctx context.Context) (r device.Reading, err error) {
	err = d.call("device State", false, func() (e error) { r, e = d.Driver.State(ctx); return e })
	return r, err
}

func (d *driver) Off(ctx context.Context) error {
	return d.call("device Off", true, func() error { return d.Driver.Off(ctx) })
}

func (d *driver) On(ctx context.Context) error {
	return d.call("device On", true, func() error { return d.Driver.On(ctx) })
}

func (d *driver) call(name string, writes bool, do func() error) error {
	dead, lose := d.cut.enter(name, writes)
	if dead {
		return errDead
	}
	if err := do(); err != nil || !lose {
		return err
	}
	return errDead
}
