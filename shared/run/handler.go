package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
)

// Handler takes one event and answers with the next, or with nil when there is
// nothing to say. An error is Again unless it is Malformed.
type Handler func(ctx context.Context, e event.Event) (*event.Event, error)

// Sender hands an event to a broker, and returns when the broker has it. It is
// for what may have several events to say, or none that was asked for.
type Sender interface {
	Send(ctx context.Context, e event.Event) error
}

// ErrMalformed marks an event that no repetition can mend: 400, dead letter.
var ErrMalformed = errors.New("malformed event")

// ErrAgain marks a failure that may be gone at the next try: 503, retried by
// the broker. Every error that isn't Malformed counts as Again.
var ErrAgain = errors.New("try again")

// Node is the one that an event is about. One that names none is malformed.
func Node(e event.Event) (string, error) {
	node, err := events.Node(e)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return node, nil
}

// Accepting puts a door before h, where events come from their senders and not from a
// broker: what no function could do anything with is malformed, and its sender hears it.
func Accepting(h Handler) Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		if err := events.Accept(e); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return h(ctx, e)
	}
}
