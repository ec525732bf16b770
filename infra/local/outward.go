package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/infra/local/broker"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/shared/run/sink"
)

// outward are Triggers of the user's own, which carry events to subscribers outside of this process.
type outward struct {
	triggers []broker.Trigger
	handlers map[string]run.Handler
	// refused is why no Trigger of the file is served; nil if all are. A mistake in it holds up no fence.
	refused error
}

// loadOutward reads a file, which need not exist. A Trigger must not have the name of one of nodefence's own.
func loadOutward(path string, own []broker.Trigger) outward {
	o, err := readOutward(path, own)
	if err != nil {
		return outward{refused: fmt.Errorf("no Trigger of --outward-triggers is served: %w", err)}
	}
	return o
}

func readOutward(path string, own []broker.Trigger) (o outward, err error) {
	if path == "" {
		return o, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if o.triggers, err = broker.ParseOutward(path, data); err != nil {
		return o, err
	}
	taken := map[string]bool{}
	for i := range own {
		taken[own[i].Name] = true
	}
	o.handlers = map[string]run.Handler{}
	for i := range o.triggers {
		t := &o.triggers[i]
		if taken[t.Name] {
			return o, fmt.Errorf("%s: metadata.name: %q is a Trigger of nodefence's own", path, t.Name)
		}
		if o.handlers[t.Name], err = posterTo(t.URI); err != nil {
			return o, fmt.Errorf("%s: Trigger %s: %w", path, t.Name, err)
		}
	}
	return o, nil
}

// posterTo returns a handler that sends events to a subscriber, without the tokens of requests (S29: no secret is shown).
// The content of the answer is not read.
func posterTo(uri string) (run.Handler, error) {
	s, err := sink.New(sink.Options{Sink: uri})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		return nil, s.Send(ctx, events.Redacted(e))
	}, nil
}

// words is what is wrong with the file, for people; empty if nothing is.
func (o outward) words() string {
	if o.refused == nil {
		return ""
	}
	return o.refused.Error()
}
