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
	"github.com/nodefence/nodefence/shared/kube"
)

// Options are the choices of New.
type Options struct {
	Config *rest.Config
	Client *kube.Client
	Sender Sender
	Logger *slog.Logger
	// Source names this cluster in events.
	Source events.Source
	// Namespace is nodefence's own: its leader Lease and the enrolments are there.
	Namespace string
	// Resync is how often what is unhealthy or overdue is sent again (S19).
	Resync time.Duration
	// CheckEvery is how often each device of a node is read while nothing has failed;
	// 0 is never.
	CheckEvery time.Duration
	// Identity names this replica; Elect lets one of several be active.
	Identity string
	Elect    bool
	// Registerer, if set, gets the source's metrics.
	Registerer prometheus.Registerer
}

// Source watches and sends. It has no state of its own: each of its parts has a lock, and
// while it holds that calls no other part, but for the outbox and the enrolment, which call
// nobody while they hold theirs. What is to be decided by several parts is asked of one
// after the other.
type Source struct {
	o        Options
	now      func() time.Time
	outbox   *outbox
	enrol    *enrolment
	standing *standings
	nodes    *nodeStore
	leases   *leaseStore
	due      *dueStore
	problems *problemStore
	targets  *targetStore
	left     *leftovers
	wg       sync.WaitGroup
	// remembers is how often the ledger is read to see whether it went back.
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
	now, out := o.Client.Clock().Now, newOutbox(o.Sender, o.Logger)
	enrol := &enrolment{client: o.Client, namespace: o.Namespace, log: o.Logger}
	s := &Source{
		o: o, now: now, remembers: min(rememberEvery, o.Resync), outbox: out, enrol: enrol, standing: newStandings(o.Logger),
		nodes: newNodeStore(enrol), leases: newLeaseStore(o.Source, out, o.Logger), due: newDueStore(o.Source, out, o.Resync),
		problems: newProblemStore(o.Logger), targets: newTargetStore(), left: newLeftovers(),
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(s.outbox.sent, s.outbox.failed, s.outbox.length, s.problems.counted, s.targets.unfenceable)
	}
	return s, nil
}

// Ready tells what is missing until events are sent. A standby is ready.
func (s *Source) Ready() error {
	if err := s.standing.missing(); err != nil {
		return err
	}
	return s.unwatched()
}

// uncount is at the end of a lead: who stands by sees no node go, and what it said of
// the nodes would be said beside what the one that leads says.
func (s *Source) uncount() {
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
	s.leases.begin(s.now())
	s.due.begin()
	s.problems.begin()
	s.targets.begin(s.o.CheckEvery, ledger.Status.Checks)
	s.left.begin()
	s.outbox.empty()
	s.wg.Go(func() { s.outbox.run(ctx) })
	s.wg.Go(func() { s.enrol.run(ctx) })
	if err := s.watches(ctx); err != nil {
		return err
	}
	if err := s.watchProblems(ctx); err != nil {
		return err
	}
	s.leases.seed(ledger.Status.Leases)
	s.o.Logger.Info("watching", "nodes", len(s.nodes.uids()))
	s.standing.set(nil)
	s.wg.Go(func() { s.pictures(ctx) })
	s.loop(ctx)
	return ctx.Err()
}
