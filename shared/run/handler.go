package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
)

// Handler takes one event and returns the reply, or nil if there is none. An error is Again
// unless it is Malformed.
type Handler func(ctx context.Context, e event.Event) (*event.Event, error)

// Sender hands an event to a broker, and returns when the broker has it. It is for programs
// that may send several events, or events without a request.
type Sender interface {
	Send(ctx context.Context, e event.Event) error
}

// ErrMalformed marks an event that no repetition can help: 400, dead letter.
var ErrMalformed = errors.New("malformed event")

// ErrAgain marks a failure that the next try may not have: 503, the broker tries again.
// Every error that isn't Malformed counts as Again.
var ErrAgain = errors.New("try again")

// Refused is the error of an event that was sent here directly, and whose sender learns why nothing comes of it. HTTP
// answers with its status and words.
type Refused struct {
	// Status is an HTTP status from 400 to 499.
	Status int
	Words  string
}

func (r *Refused) Error() string { return r.Words }

// Node is the node that an event is about. An event that names none is malformed.
func Node(e event.Event) (string, error) {
	node, err := events.Node(e)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return node, nil
}

// Accepting checks events before h, if they come directly from their senders and not from a
// broker. An event that no function could use is malformed, and its sender gets the error.
func Accepting(h Handler) Handler {
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		if err := events.Accept(e); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return h(ctx, e)
	}
}
