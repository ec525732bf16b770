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
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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

// Source watches and sends.
type Source struct {
	o        Options
	now      func() time.Time
	wake     chan struct{}
	outbox   *outbox
	enrol    *enrolment
	standing *standings
	problems *problemStore
	left     *leftovers
	wg       sync.WaitGroup
	// remembers is how often the ledger is read to see whether it went back.
	remembers time.Duration

	mu      sync.Mutex
	nodes   map[string]nodeView
	due     *dueList
	picture *picture
	drawn   api.LeasePicture
	// told are the marks of the still Leases that were sent, by node.
	told map[string]string
	// excluded chooses the nodes that each policy leaves alone by label; excluding says
	// that the policies are known.
	excluded  map[string]*api.LabelSelector
	excluding bool
	// ledger is what was last heard of it that may hold fences.
	ledger string
	// targets are the FenceTargets by node; pace gives the turns to be checked, once
	// checks says that the FenceTargets are known.
	targets     map[string]*targetView
	pace        *pace
	checks      bool
	hostHA      *hostHA
	unfenceable *prometheus.GaugeVec
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
	s := &Source{
		o: o, now: o.Client.Clock().Now, wake: make(chan struct{}, 1), outbox: newOutbox(o.Sender, o.Logger),
		remembers: min(rememberEvery, o.Resync), nodes: map[string]nodeView{}, hostHA: newHostHA(),
		standing: newStandings(o.Logger), problems: newProblemStore(o.Logger), left: newLeftovers(),
	}
	s.enrol = &enrolment{client: o.Client, namespace: o.Namespace, log: o.Logger}
	s.unfenceable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "nodefence_nodes_unfenceable", Help: "Nodes that could not be fenced now, as their FenceTargets say, by reason.",
	}, []string{"reason"})
	if o.Registerer != nil {
		o.Registerer.MustRegister(s.outbox.sent, s.outbox.failed, s.outbox.length, s.problems.counted, s.unfenceable)
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
	s.unfenceable.Reset()
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
	s.mu.Lock()
	s.nodes, s.due, s.picture = map[string]nodeView{}, newDueList(s.o.Resync), newPicture(s.now())
	s.drawn, s.told, s.ledger = api.LeasePicture{}, nil, ""
	s.excluded, s.excluding = map[string]*api.LabelSelector{}, false
	s.targets, s.pace, s.checks = map[string]*targetView{}, newPace(s.o.CheckEvery, ledger.Status.Checks), false
	s.hostHA = newHostHA()
	s.unfenceable.Reset()
	s.mu.Unlock()
	s.problems.begin()
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
	s.mu.Lock()
	s.picture.seed(ledger.Status.Leases)
	s.o.Logger.Info("watching", "nodes", len(s.nodes))
	s.mu.Unlock()
	s.standing.set(nil)
	s.wg.Go(func() { s.pictures(ctx) })
	s.loop(ctx)
	return ctx.Err()
}
