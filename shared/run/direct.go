package run

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// Call hands an event to a function and returns its reply, or nil if there is none or if
// Call passes the reply on itself.
type Call func(ctx context.Context, function string, e event.Event) (*event.Event, error)

// Direct is the Sender that needs no broker: it calls the owner of an event itself. A reply
// goes to the broker; if the broker does not accept it, Direct calls the reply's owner too.
//
// What a reader must not get wrong: a broker that accepts a reply may still not deliver it.
// So the caller of Direct looks again.
type Direct struct {
	// Owner names the function that takes an event type; empty if none does.
	Owner func(eventType string) string
	Call  Call
	// Broker takes replies.
	Broker Sender
	Log    *slog.Logger
}

// takeTimeout bounds the wait for the broker's answer: a broker with a full disk may not
// answer.
const takeTimeout = 5 * time.Second

// hops bounds the calls of one Send. A whole fence has fewer phases.
const hops = 12

// Send returns when the owner has handled the event, and when the broker has the reply, or
// the reply's owner has handled it.
func (d *Direct) Send(ctx context.Context, e event.Event) error {
	for range hops {
		function := d.Owner(e.Type())
		if function == "" {
			return nil // no function takes it, for example of a fence that is finished
		}
		reply, err := d.Call(ctx, function, e)
		if err != nil {
			return fmt.Errorf("call %s: %w", function, err)
		}
		if reply == nil {
			return nil
		}
		if err = d.announce(ctx, *reply); err == nil {
			return nil
		}
		d.Log.WarnContext(ctx, "the broker does not take a reply, the reply's owner is called", "event", reply.ID(), "type", reply.Type(), "node", reply.Subject(), "error", err.Error())
		e = *reply
	}
	return fmt.Errorf("event %s of type %s: no end after %d replies", e.ID(), e.Type(), hops)
}

func (d *Direct) announce(ctx context.Context, reply event.Event) error {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	return d.Broker.Send(ctx, reply)
}
