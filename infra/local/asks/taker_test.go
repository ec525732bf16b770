package asks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// quiet reports nothing.
type quiet struct{ report.Reporter }

func (quiet) Refused(context.Context, report.Refusal) {}

// port is a Taker whose API server knows the token "good" for event 1 about node a.
type port struct {
	*Taker
	gate      run.Handler
	asked     int
	published []string
	log       bytes.Buffer
}

func newPort(gate run.Handler) *port {
	p := &port{gate: gate}
	p.Taker = &Taker{
		Gate: func(ctx context.Context, e event.Event) (*event.Event, error) { p.asked++; return p.gate(ctx, e) },
		Review: func(_ context.Context, token, audience string) (*kube.User, string, error) {
			switch {
			case token == "unknown":
				return nil, "", errors.New("the API server is busy")
			case token != "good" || audience != "io.nodefence.request.fence.v1/a/1":
				return nil, "not accepted for audience " + audience, nil
			}
			return &kube.User{Username: "ann"}, "", nil
		},
		Publish: func(_ context.Context, e event.Event) error { p.published = append(p.published, e.Type()); return nil },
		Log:     slog.New(slog.NewTextHandler(&p.log, nil)), Invocation: time.Minute,
	}
	return p
}

func (p *port) post(eventType, node, id, data string) (status int, words string) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(data))
	for k, v := range map[string]string{"specversion": "1.0", "type": eventType, "source": "/me", "id": id, "subject": node, "time": time.Now().UTC().Format(time.RFC3339)} {
		r.Header.Set("ce-"+k, v)
	}
	r.Header.Set("content-type", "application/json")
	w := httptest.NewRecorder()
	p.HTTP().ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// refuses is a gate that refuses for a reason.
func refuses(reason api.Reason) run.Handler {
	r := Reporter(quiet{})
	return func(ctx context.Context, _ event.Event) (*event.Event, error) {
		r.Refused(ctx, report.Refusal{Reason: reason, Message: "so it is"})
		return nil, nil
	}
}

func opens(context.Context, event.Event) (*event.Event, error) {
	e := event.New()
	e.SetID("next")
	e.SetSource("/nodefence")
	e.SetType(events.OfPhase(api.Isolating))
	e.SetSubject("a")
	return &e, nil
}

// TestASenderHearsWhatComesOfAnEvent: 202 once the gate has opened a fence or has done so before, and otherwise why not.
// The gate hears of no event whose sender has not proved who it is (S20: Kubernetes says who may ask).
func TestASenderHearsWhatComesOfAnEvent(t *testing.T) {
	const good = `{"token":"good"}`
	down := func(context.Context, event.Event) (*event.Event, error) { return nil, errors.New("secret inner text") }
	for name, c := range map[string]struct {
		gate             run.Handler
		eventType        string
		node, id, data   string
		status           int
		words            string
		asked, published int
	}{
		"a fence opens":              {opens, events.RequestFence, "a", "1", good, 202, "", 1, 1},
		"a fence is joined":          {func(context.Context, event.Event) (*event.Event, error) { return nil, nil }, events.RequestFence, "a", "1", good, 202, "", 1, 0},
		"a type of the sender's own": {opens, "com.example.rack", "a", "1", good, 202, "", 1, 1},
		"it was served before":       {refuses(api.RequestServedAlready), events.RequestFence, "a", "1", good, 202, "", 1, 0},
		"the gate refuses the token": {refuses(api.TokenRefused), events.RequestFence, "a", "1", good, 401, "TokenRefused: so it is", 1, 0},
		"no right":                   {refuses(api.NotAllowed), events.RequestFence, "a", "1", good, 403, "NotAllowed: so it is", 1, 0},
		"no policy":                  {refuses(api.NoPolicy), events.RequestFence, "a", "1", good, 422, "NoPolicy: so it is", 1, 0},
		"too old":                    {refuses(api.RequestTooOld), events.RequestFence, "a", "1", good, 409, "RequestTooOld: so it is", 1, 0},
		"the gate can't answer":      {down, events.RequestFence, "a", "1", good, 503, "try again", 1, 0},
		"no token":                   {opens, events.RequestFence, "a", "1", `{"reason":"smoke"}`, 401, "data.token is missing: make one with kubectl create token SERVICEACCOUNT --audience=io.nodefence.request.fence.v1/a/1 --duration=10m", 0, 0},
		"no data":                    {opens, events.RequestFence, "a", "1", "", 401, "data.token is missing: make one with kubectl create token SERVICEACCOUNT --audience=io.nodefence.request.fence.v1/a/1 --duration=10m", 0, 0},
		"another one's token":        {opens, events.RequestFence, "a", "1", `{"token":"bad"}`, 401, "not accepted for audience io.nodefence.request.fence.v1/a/1", 0, 0},
		"a token of another event":   {opens, events.RequestFence, "a", "2", good, 401, "not accepted for audience io.nodefence.request.fence.v1/a/2", 0, 0},
		"a token of another node":    {opens, events.RequestFence, "b", "1", good, 401, "not accepted for audience io.nodefence.request.fence.v1/b/1", 0, 0},
		"nobody reviews the token":   {opens, events.RequestFence, "a", "1", `{"token":"unknown"}`, 503, "try again", 0, 0},
		"an event of nodefence's":    {opens, events.NodeUnhealthy, "a", "1", good, 403, `an event of type "io.nodefence.node.unhealthy.v1" asks for no fence: send io.nodefence.request.fence.v1`, 0, 0},
		"a FenceRequest's":           {opens, events.RequestFence, "a", "1", `{"token":"good","fenceRequest":{"namespace":"n","name":"a"}}`, 403, "data.fenceRequest is for nodefence's own events: leave it out", 0, 0},
		"no JSON":                    {opens, events.RequestFence, "a", "1", `["good"]`, 400, "malformed event: data: want a JSON object with node, reason, drain and token, or fenceRequest, all optional: json: cannot unmarshal array into Go value of type events.Request", 0, 0},
		"a misspelt type":            {opens, "io.nodefence.request.fenc.v1", "a", "1", good, 400, `malformed event: attribute type: nodefence has no type "io.nodefence.request.fenc.v1": did you mean io.nodefence.request.fence.v1?`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPort(c.gate)
			status, words := p.post(c.eventType, c.node, c.id, c.data)
			if status != c.status || words != c.words {
				t.Errorf("%d %s\nwant %d %s", status, words, c.status, c.words)
			}
			if p.asked != c.asked || len(p.published) != c.published {
				t.Errorf("the gate was asked %d times and %v were published, want %d and %d", p.asked, p.published, c.asked, c.published)
			}
			if strings.Contains(p.log.String(), `"good"`) || strings.Contains(words, "secret") {
				t.Errorf("a secret is told: %s; %s", words, p.log.String())
			}
		})
	}
}

// TestABrokerThatIsDownRefusesNoRequest: the record of the fence stands, and says what is next (S19).
func TestABrokerThatIsDownRefusesNoRequest(t *testing.T) {
	p := newPort(opens)
	p.Publish = func(context.Context, event.Event) error { return errors.New("full") }
	if status, words := p.post(events.RequestFence, "a", "1", `{"token":"good"}`); status != http.StatusAccepted {
		t.Errorf("%d %s", status, words)
	}
}

// TestManyEventsAtOnceAreBounded: one more than are answered at once is to be sent again.
func TestManyEventsAtOnceAreBounded(t *testing.T) {
	began, ends := make(chan bool), make(chan bool)
	h := boundHandler(func(context.Context, event.Event) (*event.Event, error) { began <- true; <-ends; return nil, nil })
	done := make(chan error, atOnce)
	for range atOnce {
		go func() { _, err := h(t.Context(), event.New()); done <- err }()
	}
	for range atOnce {
		<-began
	}
	if _, err := h(t.Context(), event.New()); !errors.Is(err, run.ErrAgain) || err.Error() != fmt.Sprintf("try again: %d events are being answered", atOnce) {
		t.Errorf("one more: %v", err)
	}
	close(ends)
	for range atOnce {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := boundHandler(opens)(t.Context(), event.New()); err != nil {
		t.Error(err)
	}
}
