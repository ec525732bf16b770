package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/nodefence/nodefence/shared/run"
)

var errClosed = errors.New("broker is closed")

// hopsHeader is a header, outside the event, that counts the replies which led to the
// event.
const hopsHeader = "Nodefence-Hops"

// maxHops ends a loop of replies, which nothing else would end. It is Knative's default,
// and far longer than any intended chain.
const maxHops = 255

// Publish stores e and returns once it is on disk. If an event with the same source and ID
// was stored in the last two minutes, e is dropped, which is not an error.
func (b *Broker) Publish(ctx context.Context, e event.Event) error {
	return b.publish(ctx, e, 0)
}

func (b *Broker) publish(ctx context.Context, e event.Event, hops int) error {
	m, err := message(eventsSubject, e)
	if err != nil {
		b.metrics.published.WithLabelValues("malformed").Inc()
		return fmt.Errorf("publish event: %w", err)
	}
	m.Header.Set(hopsHeader, strconv.Itoa(hops))
	if b.running.Err() != nil {
		return fmt.Errorf("publish event: %w", errClosed)
	}
	ack, err := b.js.PublishMsg(ctx, m, jetstream.WithMsgID(dedupKey(e, "")), jetstream.WithExpectStream(eventsStream))
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		b.metrics.published.WithLabelValues("malformed").Inc()
		return fmt.Errorf("publish event: %w: longer than %d bytes", run.ErrMalformed, maxMessage)
	case err != nil:
		b.metrics.published.WithLabelValues("failed").Inc()
		return fmt.Errorf("publish event: %w", err)
	case ack.Duplicate:
		b.metrics.published.WithLabelValues("duplicate").Inc()
	default:
		b.metrics.published.WithLabelValues("stored").Inc()
	}
	return nil
}

// message holds the event in structured mode, so that all of it is in the body.
func message(subject string, e event.Event) (*nats.Msg, error) {
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %s", run.ErrMalformed, oneLine(err.Error()))
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("%w: encode: %w", run.ErrMalformed, err)
	}
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set("Content-Type", event.ApplicationCloudEventsJSON)
	return m, nil
}

// dedupKey is a hash, because an ID may contain characters that a header may not.
func dedupKey(e event.Event, trigger string) string {
	sum := sha256.Sum256([]byte(e.Source() + "\x00" + e.ID() + "\x00" + trigger))
	return hex.EncodeToString(sum[:])
}

// Ingress accepts events by HTTP at POST /, and answers 202 once the event is stored.
func (b *Broker) Ingress(log *slog.Logger) http.Handler { return ingress(b.Publish, log) }
