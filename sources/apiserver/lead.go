package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/tracing"
	"github.com/nodefence/nodefence/sources/apiserver/acts"
	"github.com/nodefence/nodefence/sources/apiserver/asks"
	"github.com/nodefence/nodefence/sources/apiserver/census"
	"github.com/nodefence/nodefence/sources/apiserver/due"
	"github.com/nodefence/nodefence/sources/apiserver/gauges"
	"github.com/nodefence/nodefence/sources/apiserver/leases"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

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
	o.Logger = o.Logger.With("function", Name)
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
		acts: acts.New(o.Client, o.Source, out, o.Logger, now),
	}
	s.gauges = gauges.New(s.due.Open, s.exempt, now)
	if o.Registerer != nil {
		o.Registerer.MustRegister(s.acts.Metrics()...)
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
	s.acts.Begin()
	s.outbox.Empty()
	s.wg.Go(func() { s.outbox.Run(ctx) })
	s.wg.Go(func() { s.acts.Run(ctx) })
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

// unwatched returns an error that names those watches.
func (s *Source) unwatched() error {
	names := slices.DeleteFunc(s.standing.away(s.now()), func(name string) bool { return s.problems.dropped(name) || isOfRequests(name) })
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("not watched at present: %v", names)
}

// watches starts a watch on each of Nodes, NodeFences and Leases, and returns when all
// three have been listed.
func (s *Source) watches(ctx context.Context) error {
	scheme, err := schemeOfAll()
	if err != nil {
		return err
	}
	// Before the Nodes: otherwise each node would be enrolled once more.
	if err := s.watchEnrolments(ctx, scheme); err != nil {
		return err
	}
	if err := s.watchTargets(ctx, scheme); err != nil {
		return err
	}
	if err := s.watchRequests(ctx, scheme); err != nil {
		return err
	}
	all := fields.Everything()
	var synced []cache.InformerSynced
	for _, w := range []watched{
		{corev1.SchemeGroupVersion, "/api", nodes, nodes, "", all, &corev1.Node{}, slim.Node, s.nodeHandler()},
		{coordinationv1.SchemeGroupVersion, "/apis", kubeletLeases, kubeletLeases, leaseNamespace, all, &coordinationv1.Lease{}, slim.Lease, s.leaseHandler()},
		{api.GroupVersion, "/apis", fences, fences, "", all, &api.NodeFence{}, slim.Fence, s.fenceHandler()},
	} {
		done, err := s.watch(ctx, scheme, w)
		if err != nil {
			return err
		}
		synced = append(synced, done)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	return nil
}

// watchProblems begins when the nodes are known. Nothing waits for it: without it only
// reports are missing.
func (s *Source) watchProblems(ctx context.Context) error {
	scheme, err := schemeOfAll()
	if err != nil {
		return err
	}
	if _, err = s.watch(ctx, scheme, s.problemWatch()); err != nil {
		return err
	}
	if _, err = s.watch(ctx, scheme, s.problemPolicyWatch(ctx, scheme)); err != nil {
		return err
	}
	synced, err := s.watch(ctx, scheme, s.policyWatch())
	if err != nil {
		return err
	}
	if err := s.watchBudgets(ctx, scheme); err != nil {
		return err
	}
	if _, err := s.watch(ctx, scheme, s.ledgerWatch()); err != nil {
		return err
	}
	s.wg.Go(func() { s.collects(ctx, synced) })
	s.wg.Go(func() { s.exclusions(ctx, synced) })
	s.wg.Go(func() { s.hostHAs(ctx, synced) })
	return nil
}
