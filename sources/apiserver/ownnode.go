package apiserver

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const (
	// leadsAtLeast is how long a replica leads before it gives way. Where the nodes of two replicas wait, each
	// replica leads for a while and fences the node of the other.
	leadsAtLeast = 30 * time.Second
	// givesWayAgain is how long after it gave way a replica gives way again for the same fence. Where there is no
	// other replica, nobody leads for takesOver each time.
	givesWayAgain = 5 * time.Minute
)

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
	case f == nil || f.Status.WaitsFor != api.WaitsForOtherReplica || o.leads == nil || now-*o.leads < leadsAtLeast:
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
