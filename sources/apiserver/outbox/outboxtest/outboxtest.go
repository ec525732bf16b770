package outboxtest

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Broker takes events and tells the test which it has. Its zero value takes none: use NewBroker.
type Broker struct {
	// Answer, if set, is asked about each event. If it returns an error, the broker does not
	// take the event, and Send returns that error.
	Answer func(e event.Event) error
	has    chan event.Event
}

// NewBroker returns a broker that takes each event. It has room for 100 events that the test has
// not taken; then Send waits, but no longer than its context lasts.
func NewBroker() *Broker { return &Broker{has: make(chan event.Event, 100)} }

// Send takes an event; it returns the error of Answer, or that of the context.
func (b *Broker) Send(ctx context.Context, e event.Event) error {
	if b.Answer != nil {
		if err := b.Answer(e); err != nil {
			return err
		}
	}
	select {
	case b.has <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Next waits for the next event; the limit is only there to end a broken test.
func (b *Broker) Next(t *testing.T) event.Event {
	t.Helper()
	select {
	case e := <-b.has:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event came")
		return event.Event{}
	}
}

// Until waits for an event that is asked for, past any others.
func (b *Broker) Until(t *testing.T, want func(event.Event) bool) event.Event {
	t.Helper()
	for {
		if e := b.Next(t); want(e) {
			return e
		}
	}
}

// IDs takes the events that the broker has now, and returns their IDs in the order in which they
// were sent.
func (b *Broker) IDs() []string {
	var all []string
	for len(b.has) > 0 {
		all = append(all, (<-b.has).ID())
	}
	return all
}
