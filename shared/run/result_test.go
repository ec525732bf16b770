package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/client"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// TestResultAnswersAsHTTPDoes: behind the SDK's own receiver a handler's outcome
// has the status and the line that it has behind ours.
func TestResultAnswersAsHTTPDoes(t *testing.T) {
	reply := event.New()
	reply.SetID("2")
	reply.SetSource("/test")
	reply.SetType("reply")
	for name, c := range map[string]struct {
		handle Handler
		status int
		says   string
	}{
		"a reply":          {func(context.Context, event.Event) (*event.Event, error) { return &reply, nil }, 200, ""},
		"nothing to say":   {func(context.Context, event.Event) (*event.Event, error) { return nil, nil }, 202, ""},
		"malformed":        {fails(fmt.Errorf("%w: 100%% wrong", ErrMalformed)), 400, "malformed event: 100% wrong"},
		"try again":        {fails(errors.New("secret of the API server")), 503, "try again"},
		"a panic":          {func(context.Context, event.Event) (*event.Event, error) { panic("secret") }, 500, "handler failed"},
		"an invalid reply": {func(context.Context, event.Event) (*event.Event, error) { return &event.Event{}, nil }, 500, "handler failed"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := cehttp.New()
			if err != nil {
				t.Fatal(err)
			}
			quiet := slog.New(slog.DiscardHandler)
			sdk, err := client.NewHTTPReceiveHandler(t.Context(), p, Result(c.handle, time.Minute, quiet))
			if err != nil {
				t.Fatal(err)
			}
			for which, h := range map[string]http.Handler{"the SDK": sdk, "ours": HTTP(c.handle, HTTPOptions{Logger: quiet, Invocation: time.Minute})} {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodPost, "/", nil)
				for k, v := range map[string]string{"ce-id": "1", "ce-source": "/test", "ce-type": "x", "ce-specversion": "1.0"} {
					r.Header.Set(k, v)
				}
				h.ServeHTTP(w, r)
				if got := strings.TrimSpace(w.Body.String()); w.Code != c.status || got != c.says {
					t.Errorf("%s: %d %q, want %d %q", which, w.Code, got, c.status, c.says)
				}
				if replied := w.Header().Get("ce-type") == "reply"; replied != (c.status == http.StatusOK) {
					t.Errorf("%s: a reply: %v", which, replied)
				}
			}
		})
	}
}

func fails(err error) Handler {
	return func(context.Context, event.Event) (*event.Event, error) { return nil, err }
}
