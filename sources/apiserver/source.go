package apiserver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/ask"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/tracing"
	"github.com/nodefence/nodefence/sources/apiserver/asks"
	"github.com/nodefence/nodefence/sources/apiserver/census"
	"github.com/nodefence/nodefence/sources/apiserver/due"
	"github.com/nodefence/nodefence/sources/apiserver/gauges"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// Options are the choices of New.
type Options struct {
	Config *rest.Config
	Client *kube.Client
	Sender outbox.Sender
	Logger *slog.Logger
	// Source names this cluster in events.
	Source events.Source
	// Namespace is nodefence's own. It has the leader Lease and the enrolments.
	Namespace string
	// RequestNamespaces are those whose FenceRequests are watched.
	RequestNamespaces ask.Namespaces
	// Resync is how often what is unhealthy or overdue is sent again (S19).
	Resync time.Duration
	// CheckEvery is the interval in which each device of a node is read while nothing has
	// failed; with 0, devices are not read.
	CheckEvery time.Duration
	// Identity names this replica. With Elect, one of several replicas is active.
	Identity string
	Elect    bool
	// Registerer, if set, gets the source's metrics.
	Registerer prometheus.Registerer
	// Traces makes a span of each event about a fence that is sent; nil for none.
	Traces *tracing.Tracer
}

// Source watches and sends. It has no state of its own: each of its parts has a lock. While
// a part holds its lock it calls only the outbox and the enrolment, which call no other
// part while they hold theirs; the due fences ask the nodes for their labels, too. A question
// that needs several parts asks one after the other.
type Source struct {
	o        Options
	now      func() time.Time
	outbox   *outbox.Outbox
	enrol    *enrolment
	standing *standings
	nodes    *nodeStore
	leases   *leases.Store
	due      *due.Store
	asks     *asks.Store
	problems *problemStore
	targets  *targetStore
	left     *leftovers
	counting *census.Store
	configs  *configStore
	gauges   *gauges.Gauges
	wg       sync.WaitGroup
	// remembers is how often the ledger is read to notice a restore.
	remembers time.Duration
}

// New prepares a source; Run starts it.
func New(o Options) (*Source, error) {
	if o.Config == nil || o.Client == nil || o.Sender == nil {
		return nil, errors.New("source: Config, Client and Sender are required")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Resync <= 0 {
		o.Resync = 30 * time.Second
	}
	o.Logger = o.Logger.With("function", "source")
	var s *Source
	sends := o.Traces.Sender("source", o.Sender, func(node string) (tracing.Fence, bool) { return s.fenceOf(node) })
	now, out := o.Client.Clock().Now, outbox.New(sends, o.Logger)
	enrol := &enrolment{client: o.Client, namespace: o.Namespace, log: o.Logger}
	known := newNodeStore(enrol)
	s = &Source{
		o: o, now: now, remembers: min(rememberEvery, o.Resync), outbox: out, enrol: enrol, standing: newStandings(o.Logger),
		nodes: known, leases: leases.New(o.Source, out, o.Logger), due: due.New(o.Source, out, o.Resync, known.labels), asks: asks.New(o.Source, out),
		problems: newProblemStore(o.Logger), targets: newTargetStore(), left: newLeftovers(),
		counting: census.New(), configs: newConfigStore(),
	}
	s.gauges = gauges.New(s.due.Open, s.spared, now)
	if o.Registerer != nil {
		o.Registerer.MustRegister(append(s.outbox.Metrics(), s.problems.counted, s.targets.unfenceable, s.gauges)...)
	}
	return s, nil
}

// Ready returns what is missing until events are sent. A standby is ready.
func (s *Source) Ready() error {
	if err := s.standing.missing(); err != nil {
		return err
	}
	return s.unwatched()
}

// uncount resets the metrics at the end of a lead: a standby sees no node go, and its old
// figures would stand beside those of the leader.
func (s *Source) uncount() {
	s.gauges.Leads(false)
	s.problems.counted.Reset()
	s.targets.unfenceable.Reset()
}

// lead watches and sends until ctx ends.
func (s *Source) lead(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.uncount()
	defer s.wg.Wait()
	defer cancel()
	ledger, err := s.o.Client.Ledger(ctx)
	if err != nil {
		return err
	}
	s.enrol.begin()
	s.nodes.begin()
	s.leases.Begin(s.now())
	s.due.Begin()
	s.asks.Begin()
	s.problems.begin()
	s.targets.begin(s.o.CheckEvery, ledger.Status.Checks)
	s.left.begin()
	s.counting.Begin()
	s.configs.begin()
	s.outbox.Empty()
	s.wg.Go(func() { s.outbox.Run(ctx) })
	s.wg.Go(func() { s.enrol.run(ctx) })
	if err := s.watches(ctx); err != nil {
		return err
	}
	if err := s.watchProblems(ctx); err != nil {
		return err
	}
	s.leases.Seed(ledger.Status.Leases)
	s.o.Logger.Info("watching", "nodes", len(s.nodes.uids()))
	s.standing.set(nil)
	s.gauges.Leads(true)
	s.wg.Go(func() { <-ctx.Done(); s.gauges.Leads(false) }) // not only once all that is on its way has ended
	s.wg.Go(func() { s.pictures(ctx) })
	s.loop(ctx)
	return ctx.Err()
}
