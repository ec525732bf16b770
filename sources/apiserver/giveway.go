package apiserver

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/typed/coordination/v1"
)

const (
	// takesOver is how long a replica that gave way waits for another leader: a standby asks for the Lease every 2 s.
	takesOver = 10 * time.Second
	// looksAtOwn is how often the leader looks whether the fence of its own node waits.
	looksAtOwn = 2 * time.Second
)

// errGaveWay ends the turn of a leader whose own node another replica is to fence.
var errGaveWay = errors.New("gave up the lead: another replica is to fence the node that this process runs on")

// watchOwnNode ends the turn once the fence of the own node waits for another replica.
func (s *Source) watchOwnNode(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(looksAtOwn)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.own.giveWay(s.due.Fence(s.o.Self), s.o.Client.Clock().Elapsed()) {
				end(errGaveWay)
				return
			}
		}
	}
}

// awaitAnother returns once another replica leads, or none has taken the lead in time: then this one is alone.
func (s *Source) awaitAnother(ctx context.Context, client v1.LeasesGetter) {
	ctx, cancel := context.WithTimeout(ctx, takesOver)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l, err := client.Leases(s.o.Namespace).Get(ctx, leaderLease, metav1.GetOptions{})
		if err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" && *l.Spec.HolderIdentity != s.o.Identity {
			return
		}
	}
}
