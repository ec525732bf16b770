package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaderLease is the Lease by which replicas agree on who sends.
const leaderLease = "nodefence-source"

// Run watches and sends until ctx ends. With Elect it first waits for its turn,
// and returns an error when it loses it: whoever runs it starts it again.
func (s *Source) Run(ctx context.Context) error {
	if !s.o.Elect {
		return s.lead(ctx)
	}
	client, err := v1.NewForConfig(s.o.Config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	s.setState(nil) // a standby is ready
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, led := make(chan error, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: leaderLease, Namespace: s.o.Namespace}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: s.o.Identity},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Name: leaderLease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				close(led)
				done <- s.lead(ctx)
				cancel()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(id string) { s.o.Logger.Info("leader", "identity", id, "self", id == s.o.Identity) },
		},
	})
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
	return errors.New("lost the leader Lease")
}
