package apiserver

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/typed/coordination/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	// leadsAtLeast is how long a replica leads before it gives way. Where the nodes of two replicas wait, each
	// replica leads for a while and fences the node of the other.
	leadsAtLeast = 30 * time.Second
	// givesWayAgain is how long after it gave way a replica gives way again for the same fence. Where there is no
	// other replica, nobody leads for takesOver each time.
	givesWayAgain = 5 * time.Minute
	// takesOver is how long a replica that gave way waits for another leader: a standby asks for the Lease every 2 s.
	takesOver = 10 * time.Second
	// looksAtOwn is how often the leader looks whether the fence of its own node waits.
	looksAtOwn = 2 * time.Second
)

// errGaveWay ends the turn of a leader whose own node another replica is to fence.
var errGaveWay = errors.New("gave up the lead: another replica is to fence the node that this process runs on")

// ownNode says when a replica gives up the lead for the fence of its own node (S13: never its own machine). A leader
// that lives would hold such a fence for ever, because the functions beside it answer first.
type ownNode struct {
	mu sync.Mutex
	// leads is since when this replica leads; nil if another one does.
	leads *time.Duration
	// fence and at are for which fence this replica gave way last, and when.
	fence types.UID
	at    time.Duration
	// gave tells that this replica has given way, and has not yet waited for another leader.
	gave bool
}

// setLead notes when a lead begins, and that it ends.
func (o *ownNode) setLead(since *time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leads = since
}

// giveWay reports whether the leader gives way now, for the open fence of its own node, and notes that it does.
func (o *ownNode) giveWay(f *api.NodeFence, now time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case f == nil || f.Status.Reason != api.OwnMachine || o.leads == nil || now-*o.leads < leadsAtLeast:
		return false
	case f.UID == o.fence && now-o.at < givesWayAgain:
		return false
	}
	o.fence, o.at, o.gave = f.UID, now, true
	return true
}

// takeGiven reports whether this replica has given way since the last call.
func (o *ownNode) takeGiven() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	gave := o.gave
	o.gave = false
	return gave
}

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
