package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/run"
)

// envelope is what EventBridge puts around an event.
type envelope struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"`
	Time       time.Time       `json:"time"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
	// SpecVersion is there only in a CloudEvent that came without an envelope.
	SpecVersion json.RawMessage `json:"specversion"`
}

// errForeign marks an AWS service's own event that nodefence has no use for.
var errForeign = errors.New("not an event of nodefence")

var errTooLong = fmt.Errorf("event longer than %d bytes", run.MaxBody)

// read takes an event out of what the function was invoked with: a CloudEvent in
// EventBridge's envelope, a scheduled rule's event, or a bare CloudEvent.
func read(ctx context.Context, payload []byte) (event.Event, error) {
	var in envelope
	if err := json.Unmarshal(payload, &in); err != nil {
		return event.Event{}, fmt.Errorf("payload is neither a CloudEvent nor an EventBridge event: %w", err)
	}
	switch {
	case in.SpecVersion != nil:
		return structured(ctx, payload)
	case in.DetailType == "":
		return event.Event{}, errors.New("neither specversion nor detail-type in the payload: want a CloudEvent or an EventBridge event")
	case in.Source == "aws.events" && in.DetailType == "Scheduled Event":
		return scheduled(in), nil
	case len(in.Source) > 4 && in.Source[:4] == "aws.":
		return event.Event{}, fmt.Errorf("%s, %s: %w", in.Source, in.DetailType, errForeign)
	}
	e, err := structured(ctx, in.Detail)
	if err != nil {
		return e, fmt.Errorf("detail: %w", err)
	}
	// The rules have routed by the envelope. Who writes another type inside
	// has the event read by a function that it was not meant for.
	if e.Type() != in.DetailType {
		return e, fmt.Errorf("type %.64q differs from detail-type %.64q", e.Type(), in.DetailType)
	}
	if e.Source() != in.Source {
		return e, fmt.Errorf("source %.64q differs from the envelope's %.64q", e.Source(), in.Source)
	}
	return e, nil
}

func structured(ctx context.Context, body []byte) (event.Event, error) {
	if len(body) > run.MaxBody {
		return event.Event{}, errTooLong
	}
	return run.Structured(ctx, body)
}

// scheduled is a rule's tick as a CloudEvent.
func scheduled(in envelope) event.Event {
	e := event.New(event.CloudEventsVersionV1)
	e.SetType(events.Scheduled)
	e.SetID(in.ID)
	e.SetTime(in.Time)
	e.SetSource("/aws.events")
	if len(in.Resources) > 0 {
		e.SetSource(in.Resources[0]) // the rule's ARN, which is a URI
	}
	return e
}
