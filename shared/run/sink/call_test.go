package sink

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/run"
)

// TestCall: what a function answers over HTTP is what it answers in process.
func TestCall(t *testing.T) {
	asked := event.New()
	asked.SetID("1")
	asked.SetSource("/test")
	asked.SetType("asked")
	asked.SetSubject("node-1")
	reply := asked.Clone()
	reply.SetType("answered")
	for name, c := range map[string]struct {
		handle    run.Handler
		reply     *event.Event
		err       string
		malformed bool
	}{
		"a reply":      {handle: func(context.Context, event.Event) (*event.Event, error) { return &reply, nil }, reply: &reply},
		"no reply":     {handle: func(context.Context, event.Event) (*event.Event, error) { return nil, nil }},
		"again":        {handle: func(context.Context, event.Event) (*event.Event, error) { return nil, errors.New("inner") }, err: "it answers 503 try again"},
		"a panic":      {handle: func(context.Context, event.Event) (*event.Event, error) { panic("oh") }, err: "it answers 500 handler failed"},
		"malformed":    {handle: func(context.Context, event.Event) (*event.Event, error) { return nil, run.ErrMalformed }, err: "malformed event: malformed event", malformed: true},
		"another path": {err: "it answers 405 only POST / takes events"},
	} {
		t.Run(name, func(t *testing.T) {
			var heard event.Event
			s := httptest.NewServer(run.HTTP(func(ctx context.Context, e event.Event) (*event.Event, error) {
				heard = e
				return c.handle(ctx, e)
			}, run.HTTPOptions{Logger: slog.New(slog.DiscardHandler)}))
			defer s.Close()
			address := s.URL + "/?{function}"
			if c.handle == nil {
				address = s.URL + "/{function}"
			}
			caller, err := NewCaller(address, Options{}, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			got, err := caller.Call(t.Context(), "power", asked)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != c.err || errors.Is(err, run.ErrMalformed) != c.malformed {
				t.Errorf("got %q, want %q", said, c.err)
			}
			if d := cmp.Diff(text(c.reply), text(got)); d != "" {
				t.Error(d)
			}
			if c.handle == nil {
				return
			}
			if d := cmp.Diff(asked.String(), heard.String()); d != "" {
				t.Errorf("the function heard\n%s", d)
			}
		})
	}
}

func text(e *event.Event) string {
	if e == nil {
		return ""
	}
	return e.String()
}

func TestAnAddressThatCallsNobody(t *testing.T) {
	for address, want := range map[string]string{
		"http://nodefence-{function}.nodefence-system.svc": "",
		"http://nodefence-power.nodefence-system.svc":      `"http://nodefence-power.nodefence-system.svc" does not hold {function}, which stands for the function's name`,
		"nodefence-{function}":                             `"nodefence-function" is not an http or https URL`,
		"http://u:secret@{function}:x":                     "it is not a URL",
	} {
		got := ""
		if _, err := NewCaller(address, Options{}, time.Minute); err != nil {
			got = err.Error()
		}
		if got != want || strings.Contains(got, "secret") {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

// TestCertificatesThatAreRenewedAreTakenUpByTheCaller: the cluster's change while it
// runs, and the call that finds that out is made all the same.
func TestCertificatesThatAreRenewedAreTakenUpByTheCaller(t *testing.T) {
	ours, folder := newAuthority(t), t.TempDir()
	calls := 0
	url := ours.serve(t, func(w http.ResponseWriter, _ *http.Request) { calls++; w.WriteHeader(http.StatusAccepted) })
	caller, err := NewCaller(url+"/?{function}", Options{TrustBundles: folder}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := caller.Call(t.Context(), "power", phaseEvent()); err == nil {
		t.Fatal("a function that nobody vouches for was trusted")
	}
	write(t, filepath.Join(folder, "ca.pem"), ours.pem)
	if _, err := caller.Call(t.Context(), "power", phaseEvent()); err != nil || calls != 1 {
		t.Errorf("%d calls: %v", calls, err)
	}
}

// TestACallOfADeadFunction ends with an error.
func TestACallOfADeadFunction(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	caller, err := NewCaller(s.URL+"/?{function}", Options{}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType("asked")
	if _, err := caller.Call(t.Context(), "power", e); err == nil {
		t.Error("no error")
	}
}
