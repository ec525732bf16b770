package apiserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/nodefence/nodefence/shared/kube"
)

// errLost ends the turn of a leader that lost the Lease.
var errLost = errors.New("lost the leader Lease")

// Run watches and sends until ctx ends, or until it fails. With Elect it first waits to
// become leader. When it loses the lead, it waits again and does not exit: a new process
// would not know how far the API server's state had come, and while an API server is being
// restored, it is away for so long that every leader loses its Lease (S16: nothing begins
// after a restore until a person confirms).
func (s *Source) Run(ctx context.Context) error {
	ctx = kube.WithFunction(ctx, Name)
	for {
		err := s.turn(ctx)
		if ctx.Err() != nil || !errors.Is(err, errLost) && !errors.Is(err, errWentBack) && !errors.Is(err, errGaveWay) {
			return err
		}
		s.o.Logger.Warn("lost the lead; waiting to become leader again", "error", err.Error())
	}
}

// turn is one wait for the lead, and the lead.
func (s *Source) turn(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var remembering sync.WaitGroup
	defer remembering.Wait()
	defer cancel(nil)
	remembering.Go(func() { s.remember(ctx, cancel) })
	if s.o.Elect && s.o.Self != "" {
		remembering.Go(func() { s.watchOwnNode(ctx, cancel) })
	}
	s.standing.begin()
	err := s.stand(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errWentBack) || errors.Is(cause, errGaveWay) {
		return cause
	}
	return err
}

// stand waits for the lead, and leads until it is lost.
func (s *Source) stand(ctx context.Context) error {
	if !s.o.Elect {
		return s.lead(ctx)
	}
	client, err := v1.NewForConfig(s.o.Config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	s.standing.set(nil) // a standby counts as ready
	if s.own.takeGiven() {
		s.awaitAnother(ctx, client)
	}
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, led := make(chan error, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(s.election(client, func(ctx context.Context) {
		close(led)
		since := s.o.Client.Clock().Elapsed()
		s.own.setLead(&since)
		defer s.own.setLead(nil)
		done <- s.lead(ctx)
		cancel()
	}))
	if err != nil {
		return fmt.Errorf("elect a leader: %w", err)
	}
	elector.Run(ctx)
	select {
	case <-led:
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			return err // the watches could not even start
		}
	default:
	}
	if parent.Err() != nil {
		return parent.Err()
	}
	return errLost
}

// election returns the configuration for the leader Lease.
func (s *Source) election(client v1.LeasesGetter, lead func(context.Context)) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: leaderLease, Namespace: s.o.Namespace}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: s.o.Identity},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Name: leaderLease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: lead,
			OnStoppedLeading: func() {},
			OnNewLeader:      func(id string) { s.o.Logger.Info("leader", "identity", id, "self", id == s.o.Identity) },
		},
	}
}
