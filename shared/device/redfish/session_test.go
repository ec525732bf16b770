package redfish_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/devicetest"
	"github.com/nodefence/nodefence/shared/device/redfish/redfishtest"
)

var inSession = map[string]string{"auth": "session"}

// TestSessionsEnd: with the call, however it ends.
func TestSessionsEnd(t *testing.T) {
	refused := redfishtest.Refusal{Status: 500}
	for name, change := range map[string]func(*served, context.CancelFunc){
		"a good call":    func(*served, context.CancelFunc) {},
		"a refused call": func(s *served, _ context.CancelFunc) { s.Refuse("GET", uri, refused) },
		"a hanging call": func(s *served, cancel context.CancelFunc) {
			s.Breaks(redfishtest.Hang, "GET "+uri)
			s.Heard = func(r *http.Request) {
				if r.URL.Path == uri {
					cancel()
				}
			}
		},
		"a cancelled call": func(s *served, cancel context.CancelFunc) {
			s.Show = func(sys redfishtest.System) redfishtest.System { cancel(); return sys }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			change(s, cancel)
			_ = s.dial(t, inSession).Off(ctx) // what comes of it is another test's
			if open, ever := s.Sessions(); open != 0 || ever != 1 {
				t.Errorf("%d sessions are open of %d", open, ever)
			}
		})
	}
}

// TestSessionsSent is what a call in a session sends.
func TestSessionsSent(t *testing.T) {
	s := serve(t)
	if err := s.dial(t, inSession).Off(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"POST /SessionService/Sessions", get, post, "DELETE /SessionService/Sessions/1"}
	if d := cmp.Diff(want, s.heard()); d != "" {
		t.Error(d)
	}
}

// TestSessionsRefused in words.
func TestSessionsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		no   redfishtest.Refusal
		kind error
		text string
	}{
		"none in this BMC":          {redfishtest.Refusal{Status: 404, MessageID: "M"}, device.ErrUnsupported, "status 404: M; if it has no sessions, write auth=basic"},
		"not by a POST":             {redfishtest.Refusal{Status: 405, MessageID: "M"}, device.ErrUnsupported, "status 405: M; if it has no sessions, write auth=basic"},
		"a wrong password by a 400": {redfishtest.Refusal{Status: 400, MessageID: "iLO.2.8.UnauthorizedLoginAttempt"}, device.ErrDenied, "status 400: iLO.2.8.UnauthorizedLoginAttempt"},
		"no token":                  {redfishtest.Refusal{Status: 201, Location: sessions + "/1"}, device.ErrUnsupported, "the answer has no X-Auth-Token"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Refuse("POST", sessions, tc.no)
			_, err := s.dial(t, inSession).State(t.Context())
			want := fmt.Sprintf("%v: %s:%s: open a session: %s", tc.kind, s.host, s.port, tc.text)
			if d := cmp.Diff(want, devicetest.Words(err)); d != "" || !errors.Is(err, tc.kind) {
				t.Error(d)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		s := prepare(t)
		s.MaxSessions = -1
		s.host, s.port = s.Serve(t, s.ca.Issue(t, nil, "127.0.0.1"))
		_, err := s.dial(t, inSession).State(t.Context())
		want := "device unreachable: " + s.host + ":" + s.port + ": open a session: status 503: busy, asks to wait 60 s: Base.1.8.SessionLimitExceeded: " +
			"The session establishment failed due to the number of simultaneous sessions exceeding the limit."
		if d := cmp.Diff(want, devicetest.Words(err)); d != "" {
			t.Error(d)
		}
	})
}

// TestSessionElsewhere: one that the BMC names by another host or scheme is its own
// all the same, and ended there: a BMC has few.
func TestSessionElsewhere(t *testing.T) {
	stranger := serve(t)
	for name, moved := range map[string]string{
		"its path alone": "", "another host": "https://" + stranger.host + ":" + stranger.port,
		"a name that only it knows": "https://bmc.rack-7.invalid", "no TLS": "http://" + stranger.host + ":" + stranger.port, "no port": "//bmc.rack-7.invalid",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.Moved = moved
			if r, err := s.dial(t, inSession).State(t.Context()); err != nil || r.Power != device.On {
				t.Errorf("%+v, %v", r, err)
			}
			if open, ever := s.Sessions(); open != 0 || ever != 1 {
				t.Errorf("%d sessions are open of %d", open, ever)
			}
			if sent := stranger.heard(); len(sent) > 0 {
				t.Errorf("the other host heard %q", sent)
			}
		})
	}
}

// TestNothingIsSentLate: the time for the call runs out while the system is looked for,
// while this machine was suspended (S8). What only reads may go on.
func TestNothingIsSentLate(t *testing.T) {
	s := serve(t)
	over := false
	s.Show = func(sys redfishtest.System) redfishtest.System { over = true; return sys }
	ctx := device.Timely(t.Context(), func() time.Duration {
		if over {
			return 0
		}
		return time.Second
	})
	if err := s.dial(t, inSession).Off(ctx); err == nil {
		t.Error("it was sent")
	}
	want := []string{"POST /SessionService/Sessions", get, "DELETE /SessionService/Sessions/1"}
	if d := cmp.Diff(want, s.heard()); d != "" {
		t.Error(d)
	}
}
