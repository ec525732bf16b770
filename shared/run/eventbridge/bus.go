package eventbridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/cloudevents/sdk-go/v2/event"
)

const (
	// tries is how often one entry is put before the caller gets an error. The SDK itself
	// repeats requests that fail as a whole.
	tries = 3
	// firstWait is the pause before the second try; each next one is twice as long.
	firstWait = 100 * time.Millisecond
	// sendTimeout bounds all tries together, so that a bus that does not answer does not
	// use up an invocation's time.
	sendTimeout = 10 * time.Second
)

// Bus puts events on one bus.
type Bus struct {
	name   string
	client *eventbridge.Client
}

// New returns the bus with this name or ARN. The SDK's configuration (its environment,
// AWS_ENDPOINT_URL included) says where the bus is.
func New(cfg aws.Config, bus string) (*Bus, error) {
	if bus == "" {
		return nil, errors.New("the event bus has no name")
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("event bus %s: no region, set AWS_REGION", bus)
	}
	return &Bus{name: bus, client: eventbridge.NewFromConfig(cfg)}, nil
}

// String is the bus's name, fit for a log.
func (b *Bus) String() string { return b.name }

// Send returns when the bus has the event.
func (b *Bus) Send(ctx context.Context, e event.Event) error {
	entry, err := b.entry(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	wait := firstWait
	for try := 1; ; try++ {
		err := b.put(ctx, entry)
		var refused *refusal
		if err == nil || try == tries || !errors.As(err, &refused) {
			return err
		}
		if pause(ctx, wait) != nil {
			return err // the bus's error says more than the timeout
		}
		wait *= 2
	}
}

// entry puts the fields that rules filter by into the envelope, and the whole event into
// detail.
func (b *Bus) entry(e event.Event) (types.PutEventsRequestEntry, error) {
	if err := e.Validate(); err != nil {
		return types.PutEventsRequestEntry{}, err
	}
	detail, err := json.Marshal(e)
	if err != nil {
		return types.PutEventsRequestEntry{}, err
	}
	entry := types.PutEventsRequestEntry{
		EventBusName: aws.String(b.name),
		Source:       aws.String(e.Source()),
		DetailType:   aws.String(e.Type()),
		Detail:       aws.String(string(detail)),
	}
	if t := e.Time(); !t.IsZero() {
		entry.Time = aws.Time(t)
	}
	return entry, nil
}

// refusal is one entry that the bus refused in a request that it accepted.
type refusal struct{ bus, code, message string }

func (r *refusal) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("put event on bus %s: %s: %s", r.bus, r.code, r.message), ": ")
}

func (b *Bus) put(ctx context.Context, entry types.PutEventsRequestEntry) error {
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{entry}})
	if err != nil {
		return fmt.Errorf("put event on bus %s: %w", b.name, err)
	}
	if len(out.Entries) != 1 {
		return fmt.Errorf("put event on bus %s: answered for %d entries instead of 1", b.name, len(out.Entries))
	}
	got := out.Entries[0]
	if out.FailedEntryCount > 0 || got.ErrorCode != nil || got.EventId == nil {
		code := cmp.Or(aws.ToString(got.ErrorCode), "no event ID")
		return &refusal{b.name, code, aws.ToString(got.ErrorMessage)}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
