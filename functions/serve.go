package functions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/power"
	"github.com/nodefence/nodefence/functions/waker"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/run"
)

// NoNode is the NODE_NAME of a process that runs on no node of the cluster, or
// cannot know on which.
const NoNode = "none"

// Served is what one process serves.
type Served struct {
	Handle run.Handler
	// Waker is the second waker, if the process has it: it needs a clock of its own
	// where no platform gives it one.
	Waker *waker.Waker
}

// Serve makes the function that the settings name, or all of them by event type.
func Serve(p Parts) (s Served, err error) {
	if p.Function != "" && table[p.Function] == nil {
		return s, fmt.Errorf("NODEFENCE_FUNCTION=%s: no such function, there are %s", p.Function, strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	if p.Function == waker.Name && p.Sender == nil {
		return s, errors.New("NODEFENCE_FUNCTION=waker has nowhere to send to: set K_SINK to the broker's URL")
	}
	if p.Self, err = p.node(); err != nil {
		return s, err
	}
	all := map[string]run.Handler{}
	if p.Function == "" {
		p.Call = InProcess(all)
	}
	if p.Sender != nil && (p.Function == "" || p.Function == waker.Name) {
		p.waker = p.Waker()
		s.Waker = p.waker
	}
	maps.Copy(all, Handlers(p))
	if p.Function != "" {
		s.Handle = all[p.Function]
		return s, nil
	}
	s.Handle = run.Accepting(func(ctx context.Context, e event.Event) (*event.Event, error) {
		if h := all[Owner(e.Type())]; h != nil {
			return h(ctx, e)
		}
		p.Log.Info("ignored", "event", e.ID(), "type", e.Type(), "reason", "UnknownType")
		return nil, nil
	})
	return s, nil
}

// node is the node that this process runs on. Those that could fence it have to be
// told, because an unset variable would switch the check off in silence (S13).
func (p Parts) node() (string, error) {
	switch p.Self {
	case NoNode:
		return "", nil
	case "":
		if slices.Contains([]string{"", gate.Name, isolate.Name, power.Name}, p.Function) {
			return "", errors.New("NODE_NAME is not set: it is the node that this process runs on, which this process never fences. " +
				"Set it by the downward API (fieldRef: spec.nodeName), or to none where this is no node of the cluster")
		}
	}
	return p.Self, nil
}

// Handlers makes every function, by name.
func Handlers(p Parts) map[string]run.Handler {
	if p.kept == nil {
		p.kept = &loop.RecordCache{}
	}
	all := make(map[string]run.Handler, len(table))
	for name, build := range table {
		if name == waker.Name && p.Sender == nil {
			continue
		}
		all[name] = p.known(name, build(p))
	}
	return all
}

// InProcess calls functions that this process has.
func InProcess(all map[string]run.Handler) run.Call {
	return func(ctx context.Context, function string, e event.Event) (*event.Event, error) {
		h := all[function]
		if h == nil {
			return nil, fmt.Errorf("there is no function %s here", function)
		}
		return run.Recover(h)(ctx, e)
	}
}

// Waker is the second waker, for whatever clock it is driven by.
func (p Parts) Waker() *waker.Waker {
	if p.waker != nil {
		return p.waker
	}
	sender := p.Sender
	if p.Call != nil {
		sender = &run.Direct{Owner: Owner, Call: p.Call, Broker: p.Sender, Log: p.Log}
	}
	return &waker.Waker{Fences: p.Client, Objects: p.Client, Source: p.Source, Sender: sender, Now: p.Client.Clock().Now, Log: p.Log}
}
