package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	// SpecVersion is set only in a CloudEvent that came without an envelope.
	SpecVersion json.RawMessage `json:"specversion"`
}

// lambdaSource is the source of Lambda's own events on a bus.
const lambdaSource = "lambda"

// errForeign marks an AWS service's own event that nodefence does not use.
var errForeign = errors.New("not an event of nodefence")

var errTooLong = fmt.Errorf("event longer than %d bytes", run.MaxBody)

// read finds the event in an invocation's payload: a CloudEvent in EventBridge's envelope,
// a scheduled rule's event, an event whose invocation of another function failed, or a bare
// CloudEvent.
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
		e := scheduled(in)
		return e, e.Validate() // an event without an ID is none
	case in.Source == lambdaSource && in.DetailType == "Lambda Function Invocation Result - Failure":
		return lost(ctx, in.Detail)
	case in.Source == lambdaSource, strings.HasPrefix(in.Source, "aws."):
		return event.Event{}, fmt.Errorf("%s, %s: %w", in.Source, in.DetailType, errForeign)
	}
	e, err := structured(ctx, in.Detail)
	if err != nil {
		return e, fmt.Errorf("detail: %w", err)
	}
	// The rules have routed by the envelope. A sender who writes another type inside would
	// have the event read by a function that it was not meant for.
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

// scheduled returns a rule's tick as a CloudEvent.
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

// The attributes in which Knative says where a dead letter was going and why it did not
// arrive. They have the same meaning here.
const (
	errorDest = "knativeerrordest"
	errorData = "knativeerrordata"
)

// failure is Lambda's report of an asynchronous invocation that was given up.
type failure struct {
	RequestContext struct {
		FunctionARN string `json:"functionArn"`
		Condition   string `json:"condition"`
	} `json:"requestContext"`
	RequestPayload  json.RawMessage `json:"requestPayload"`
	ResponsePayload struct {
		ErrorMessage string `json:"errorMessage"`
	} `json:"responsePayload"`
}

// lost returns the event that was given up, as a dead letter.
func lost(ctx context.Context, detail []byte) (event.Event, error) {
	var f failure
	if err := json.Unmarshal(detail, &f); err != nil {
		return event.Event{}, fmt.Errorf("detail is not an invocation's failure: %w", err)
	}
	var in envelope
	if json.Unmarshal(f.RequestPayload, &in) == nil && in.Source == lambdaSource {
		return event.Event{}, errors.New("requestPayload is itself of another invocation") // the nesting could go on without end
	}
	e, err := read(ctx, f.RequestPayload)
	if err != nil {
		return e, fmt.Errorf("requestPayload: %w", err)
	}
	e.SetExtension(errorDest, f.RequestContext.FunctionARN)
	e.SetExtension(errorData, strings.TrimSuffix(f.RequestContext.Condition+": "+f.ResponsePayload.ErrorMessage, ": "))
	return e, nil
}
