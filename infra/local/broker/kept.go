package broker

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/run"
)

// errNone: no broker has started yet.
var errNone = errors.New("there is no broker yet")

// with calls f with the running broker.
func with[T any](k *Keeper, f func(b *Broker) (T, error)) (none T, err error) {
	b := k.now()
	if b == nil {
		return none, errNone
	}
	return f(b)
}

// Publish, Ready, Idle, Events and DeadLetters call the running broker.
func (k *Keeper) Publish(ctx context.Context, e event.Event) error {
	_, err := with(k, func(b *Broker) (any, error) { return nil, b.Publish(ctx, e) })
	return err
}

// Ready returns why no event can be taken now.
func (k *Keeper) Ready() error {
	_, err := with(k, func(b *Broker) (any, error) { return nil, b.Ready() })
	return err
}

// Idle reports whether every stored event has been handled or given up.
func (k *Keeper) Idle(ctx context.Context) (bool, error) {
	return with(k, func(b *Broker) (bool, error) { return b.Idle(ctx) })
}

// Events returns the stored events, as far as they are kept.
func (k *Keeper) Events(ctx context.Context) ([]event.Event, error) {
	return with(k, func(b *Broker) ([]event.Event, error) { return b.Events(ctx) })
}

// DeadLetters returns the events that were given up, as far as they are kept.
func (k *Keeper) DeadLetters(ctx context.Context) ([]DeadLetter, error) {
	return with(k, func(b *Broker) ([]DeadLetter, error) { return b.DeadLetters(ctx) })
}

// Ingress accepts events by HTTP at POST /, and answers 202 once the event is stored.
func (k *Keeper) Ingress(log *slog.Logger) http.Handler { return ingress(k.Publish, log) }

// Close ends the broker. Run must have ended.
func (k *Keeper) Close() error {
	if b := k.now(); b != nil {
		return b.Close()
	}
	return nil
}

// ingress serves Ingress for any function that stores an event.
func ingress(publish func(context.Context, event.Event) error, log *slog.Logger) http.Handler {
	return run.HTTP(func(ctx context.Context, e event.Event) (*event.Event, error) {
		return nil, publish(ctx, e)
	}, run.HTTPOptions{Logger: log})
}
