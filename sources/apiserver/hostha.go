package apiserver

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// The state of each node in Host HA follows from what the source watches anyway: so it
// is the one that writes it, when it changes, beside all else that it does.

const (
	// hostHAEvery lets changes that come together be one write.
	hostHAEvery = 500 * time.Millisecond
	// hostHAAtOnce bounds the writes of one time: a policy may be all nodes'.
	hostHAAtOnce = 50
)

// hostHA is what of it is not kept for something else.
type hostHA struct {
	policies map[string]api.FencePolicy
	// stopped: the ledger lets nothing new start.
	stopped bool
	// doubtful are the nodes whose state may be another one now.
	doubtful map[string]bool
}

func newHostHA() *hostHA {
	return &hostHA{policies: map[string]api.FencePolicy{}, doubtful: map[string]bool{}}
}

// changed has a node's state looked at. It comes after the change: who looks forgets that
// first, and then reads what the state follows from.
func (t *targetStore) changed(node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hostHA.doubtful[node] = true
}

// manages notes a policy as it is now, nil that it is gone.
func (t *targetStore) manages(policy string, now *api.FencePolicy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, known := t.hostHA.policies[policy]
	if known && now != nil && was.Generation == now.Generation && was.UID == now.UID && was.DeletionTimestamp.Equal(now.DeletionTimestamp) {
		return
	}
	if delete(t.hostHA.policies, policy); now != nil {
		t.hostHA.policies[policy] = *now
	}
	t.doubtAllLocked()
}

// stopped notes whether the ledger lets nothing new start.
func (t *targetStore) stopped(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hostHA.stopped != is {
		t.hostHA.stopped = is
		t.doubtAllLocked()
	}
}

// doubtAllLocked has the states of all nodes looked at.
func (t *targetStore) doubtAllLocked() {
	for node := range t.byNode {
		t.hostHA.doubtful[node] = true
	}
}

// doubts are the nodes whose states are to be looked at, and what these follow from.
type doubts struct {
	targets  map[string]targetView
	policies []api.FencePolicy
	stopped  bool
}

// doubted takes them; it is empty while the FenceTargets are not known.
func (t *targetStore) doubted() doubts {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := doubts{targets: map[string]targetView{}, stopped: t.hostHA.stopped}
	if !t.listed || len(t.hostHA.doubtful) == 0 {
		return d
	}
	for node := range t.hostHA.doubtful {
		if v := t.byNode[node]; v != nil && v.nodeUID != "" { // else its next check writes to it first
			d.targets[node] = *v
		}
	}
	t.hostHA.doubtful = map[string]bool{}
	d.policies = slices.Collect(maps.Values(t.hostHA.policies))
	return d
}

// hostHAs writes them until ctx ends. It waits for the policies: a node that none of
// them is known to select would be DISABLED.
func (s *Source) hostHAs(ctx context.Context, policies cache.InformerSynced) {
	if !cache.WaitForCacheSync(ctx.Done(), policies) {
		return
	}
	tick := time.NewTicker(hostHAEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.saveHostHA(ctx)
		}
	}
}

// saveHostHA writes what has changed. What can't be written is tried again.
func (s *Source) saveHostHA(ctx context.Context) {
	news := s.hostHANews()
	for i, node := range slices.Sorted(maps.Keys(news)) {
		err := s.o.Client.SaveHostHA(ctx, node, news[node])
		if err == nil {
			continue
		}
		if ctx.Err() == nil {
			s.o.Logger.Warn("Host HA's state of a node was not written", "node", node, "error", err.Error())
		}
		for _, left := range slices.Sorted(maps.Keys(news))[i:] {
			s.targets.changed(left)
		}
		return
	}
}

// hostHANews are the states that have changed, of as many nodes as are written at once.
func (s *Source) hostHANews() map[string]api.HostHA {
	news := map[string]api.HostHA{}
	d := s.targets.doubted()
	for node, t := range d.targets {
		if len(news) == hostHAAtOnce {
			s.targets.changed(node)
		} else if is := s.stateOf(node, t, d); is != t.hostHA {
			news[node] = is
		}
	}
	return news
}

// stateOf is Host HA's state of a node.
func (s *Source) stateOf(node string, t targetView, d doubts) api.HostHA {
	h := admission.Host{Name: node, Policies: d.policies, Stopped: d.stopped, Fenceable: t.fenceable, Fence: s.due.fence(node)}
	if v, here := s.nodes.get(node); here {
		h.Here, h.Labels, h.Excluded, h.ControlPlane = true, v.labels, v.excluded, v.role != kube.WorkerRole
	}
	return admission.HostHA(h)
}
