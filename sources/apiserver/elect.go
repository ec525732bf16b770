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
)

// leaderLease is the Lease by which replicas agree on who sends.
const leaderLease = "nodefence-source"

// errLost is the end of a leader's turn.
var errLost = errors.New("lost the leader Lease")

// Run watches and sends until ctx ends, or until it can't. With Elect it first waits
// for its turn, and stands by again when it loses it: a process that ended would
// forget how far the API server's state had come, and an API server that is restored
// is away for long enough to cost every leader its Lease (S16).
func (s *Source) Run(ctx context.Context) error {
	for {
		err := s.turn(ctx)
		if ctx.Err() != nil || !errors.Is(err, errLost) && !errors.Is(err, errWentBack) {
			return err
		}
		s.o.Logger.Warn("the lead is lost: waiting for it again", "error", err.Error())
	}
}

// turn is one wait and one lead.
func (s *Source) turn(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var remembering sync.WaitGroup
	defer remembering.Wait()
	defer cancel(nil)
	remembering.Go(func() { s.remember(ctx, cancel) })
	s.standing.begin()
	err := s.stand(ctx)
	if errors.Is(context.Cause(ctx), errWentBack) {
		return errWentBack
	}
	return err
}

// stand waits for its turn, and leads until it is lost.
func (s *Source) stand(ctx context.Context) error {
	if !s.o.Elect {
		return s.lead(ctx)
	}
	client, err := v1.NewForConfig(s.o.Config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	s.standing.set(nil) // a standby is ready
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, led := make(chan error, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(s.election(client, func(ctx context.Context) {
		close(led)
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
			return err // it could not even start
		}
	default:
	}
	if parent.Err() != nil {
		return parent.Err()
	}
	return errLost
}

// election is for the leader Lease.
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
