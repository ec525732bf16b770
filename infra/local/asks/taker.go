package asks

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/run"
)

// Taker has the gate answer events, and tells their senders what comes of them.
type Taker struct {
	// Gate is the function gate, whose refusals come through a Reporter of this package.
	Gate run.Handler
	// Review asks the API server for the user of a token for an audience; without a user, why names the fault.
	Review func(ctx context.Context, token, audience string) (u *kube.User, why string, err error)
	// Publish gives the event with which the gate hands the fence on to a broker.
	Publish func(ctx context.Context, e event.Event) error
	Log     *slog.Logger
	// Invocation is how long an event may take.
	Invocation time.Duration
}

// atOnce is how many events are answered at once. Each costs requests to the API server, and whoever reaches the port can
// send one.
const atOnce = 16

// longestBody is the longest body of a request, in bytes. A token has some 1,000.
const longestBody = 64 << 10

// HTTP serves POST / for events.
func (t *Taker) HTTP() http.Handler {
	return run.HTTP(run.Accepting(boundHandler(t.takeEvent)), run.HTTPOptions{Logger: t.Log, MaxBody: longestBody, Invocation: t.Invocation})
}

// boundHandler has a sender repeat its event where too many events are being answered.
func boundHandler(h run.Handler) run.Handler {
	places := make(chan struct{}, atOnce)
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			return h(ctx, e)
		default:
			return nil, fmt.Errorf("%w: %d events are being answered", run.ErrAgain, atOnce)
		}
	}
}

// takeEvent answers one event: nil once the requested fence stands in the API server.
func (t *Taker) takeEvent(ctx context.Context, e event.Event) (*event.Event, error) {
	if err := t.authenticate(ctx, e); err != nil {
		return nil, err
	}
	ctx, heard := hearRefusal(ctx)
	reply, err := t.Gate(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := heard.asError(); err != nil {
		return nil, err
	}
	if reply == nil {
		return nil, nil
	}
	if err := t.Publish(ctx, *reply); err != nil {
		// The record says what is next, and resync has it done.
		t.Log.WarnContext(ctx, "the next step of a fence is not in the broker, and is done when it is overdue", "event", e.ID(), "node", e.Subject(), "error", err.Error())
	}
	return nil, nil
}

// authenticate refuses an event without a valid token. The gate reviews the token too, but after reads of the cluster and
// with an Event on the Node for each refusal, and anybody may reach this port.
func (t *Taker) authenticate(ctx context.Context, e event.Event) error {
	switch {
	case !events.Asks(e.Type()):
		return &run.Refused{Status: http.StatusForbidden, Words: fmt.Sprintf("an event of type %.80q asks for no fence: send %s", e.Type(), events.RequestFence)}
	case !events.AsksOnce(e):
		return &run.Refused{Status: http.StatusForbidden, Words: "data.fenceRequest is for nodefence's own events: leave it out"}
	}
	node, err := events.Node(e)
	if err != nil {
		return fmt.Errorf("%w: %w", run.ErrMalformed, err)
	}
	body, err := events.ReadRequest(e)
	if err != nil {
		return fmt.Errorf("%w: %w", run.ErrMalformed, err)
	}
	audience := events.Audience(node, e.ID())
	if body.Token == "" {
		return &run.Refused{Status: http.StatusUnauthorized, Words: "data.token is missing: make one with kubectl create token SERVICEACCOUNT --audience=" + audience + " --duration=10m"}
	}
	u, why, err := t.Review(ctx, body.Token, audience)
	if err != nil {
		return fmt.Errorf("review the token: %w", err)
	}
	if u == nil {
		return &run.Refused{Status: http.StatusUnauthorized, Words: why}
	}
	return nil
}
