package functions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/functions/adopt"
	"github.com/nodefence/nodefence/functions/gate"
	"github.com/nodefence/nodefence/functions/isolate"
	"github.com/nodefence/nodefence/functions/policystatus"
	"github.com/nodefence/nodefence/functions/power"
	"github.com/nodefence/nodefence/functions/resync"
	kinds "github.com/nodefence/nodefence/shared/adopt"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/loop"
	"github.com/nodefence/nodefence/shared/run"
)

// NoNode is the NODE_NAME of a process that runs on no node of the cluster, or cannot know
// on which.
const NoNode = "none"

// Served is what one process serves.
type Served struct {
	Handle run.Handler
	// Clocks are the clocks of the functions that this process serves.
	Clocks []Clock
}

// Clock runs a function by a clock of the process until ctx ends, and returns when its
// calls have ended. A platform's clock may also call the function.
type Clock func(ctx context.Context)

// Serve makes the function that the settings name, or all of them by event type.
func Serve(p Parts) (s Served, err error) {
	if p.Function != "" && table[p.Function] == nil {
		return s, fmt.Errorf("NODEFENCE_FUNCTION=%s: no such function, there are %s", p.Function, strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	if p.Function == resync.Name && p.Sender == nil {
		return s, errors.New("NODEFENCE_FUNCTION=resync needs a place to send events: set K_SINK to the broker's URL")
	}
	if err = p.Adoptable(); err != nil {
		return s, err
	}
	if p.Self, err = p.node(); err != nil {
		return s, err
	}
	all := map[string]run.Handler{}
	if p.Function == "" {
		p.Call = InProcess(all)
	}
	p.resync = p.Resyncer()
	s.Clocks = p.Clocks()
	maps.Copy(all, Handlers(p))
	if p.Function != "" {
		s.Handle = all[p.Function]
		return s, nil
	}
	s.Handle = run.Accepting(func(ctx context.Context, e event.Event) (*event.Event, error) {
		if events.IsTick(e.Type()) {
			return nil, tick(ctx, all, e)
		}
		if h := all[Owner(e.Type())]; h != nil {
			return h(ctx, e)
		}
		p.Log.Info("ignored", "event", e.ID(), "type", e.Type(), "reason", "UnknownType")
		return nil, nil
	})
	return s, nil
}

// Adoptable says what is wrong with the settings of what is adopted. It refuses them for the process
// that adopts.
func (p Parts) Adoptable() error {
	if p.Function == adopt.Name && p.Adopter() == nil {
		return errors.New("NODEFENCE_FUNCTION=adopt has nothing to do: set NODEFENCE_ADOPT=far")
	}
	if p.Function != "" && p.Function != adopt.Name || !p.Adopt.Has(kinds.FAR) || p.Adopt.Has(kinds.MHC) {
		return nil // the others go on with what was begun (S25), and a namespace may be there for mhc only
	}
	for _, n := range p.AdoptNamespaces {
		if !p.RequestNamespaces.Has(n) {
			return fmt.Errorf("NODEFENCE_ADOPT_NAMESPACES has %s, whose FenceRequests do not count: name it in NODEFENCE_REQUEST_NAMESPACES too", n)
		}
	}
	return nil
}

// node is the node that this process runs on. A process that could fence this node must be
// told its name, because an unset variable would silently disable the check (S13: never its
// own machine).
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
		if name == resync.Name && p.Sender == nil || name == adopt.Name && p.Adopter() == nil {
			continue
		}
		all[name] = p.Traces.Handler(name, p.known(name, build(p)))
	}
	return all
}

// InProcess calls functions that run in this process.
func InProcess(all map[string]run.Handler) run.Call {
	return func(ctx context.Context, function string, e event.Event) (*event.Event, error) {
		h := all[function]
		if h == nil {
			return nil, fmt.Errorf("there is no function %s here", function)
		}
		return run.Recover(h)(ctx, e)
	}
}

// tick sends a clock's tick to each function that takes ticks, and replies nothing.
func tick(ctx context.Context, all map[string]run.Handler, e event.Event) error {
	failed := make([]error, len(ticked))
	var calls sync.WaitGroup
	for i, name := range ticked {
		if h := all[name]; h != nil {
			calls.Go(func() { _, failed[i] = run.Recover(h)(ctx, e) }) // no function waits for another
		}
	}
	calls.Wait()
	return errors.Join(failed...)
}

// Clocks are the clocks of the functions that this process serves. Resync needs a sender.
func (p Parts) Clocks() (all []Clock) {
	serves := func(name string) bool { return p.Function == "" || p.Function == name }
	if serves(resync.Name) && p.Sender != nil {
		all = append(all, func(ctx context.Context) { p.Resyncer().Run(ctx, resync.Tick) })
	}
	if serves(policystatus.Name) {
		all = append(all, func(ctx context.Context) { p.statuses().Run(ctx, policystatus.Tick) })
	}
	if a := p.Adopter(); serves(adopt.Name) && a != nil {
		all = append(all, func(ctx context.Context) { a.Run(ctx, adopt.Tick) })
	}
	return all
}

// Resyncer makes the function resync, for any clock.
func (p Parts) Resyncer() *resync.Resyncer {
	if p.resync != nil {
		return p.resync
	}
	sender := p.Sender
	if p.Call != nil {
		sender = &run.Direct{Owner: Owner, Call: p.Call, Broker: p.Sender, Log: p.Log}
	}
	return &resync.Resyncer{
		Invocation: p.InvocationTimeout(),
		Fences:     p.Client, Objects: p.Client, Requests: p.Client, RequestNamespaces: p.RequestNamespaces, Elsewhere: p.Client,
		Source: p.Source, Sender: p.Traces.Sender(resync.Name, sender, nil), Remediation: p.remediation(), Now: p.Client.Clock().Now, Log: p.Log,
	}
}

// statuses makes the function policystatus.
func (p Parts) statuses() *policystatus.Writer {
	w := &policystatus.Writer{Objects: oneLedger{p.Client}, Trail: p.Client, Now: p.Client.Clock().Now, Log: p.Log}
	if p.healthChecks != nil {
		w.KeepHealthChecks = p.healthChecks.Keep
	}
	return w
}

// oneLedger is a client for a tick that reads the ledger twice within moments. It reads the
// ledger once. A write is compared with what was read (S14).
type oneLedger struct{ *kube.Client }

// Ledger returns the ledger that was read less than a second ago, if there is one.
func (c oneLedger) Ledger(ctx context.Context) (*api.FenceLedger, error) {
	return c.NewReader(0).Ledger(ctx)
}
