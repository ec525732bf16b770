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

// hostHA is what of it is not kept for something else. It is used with the source's
// lock held.
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

func (h *hostHA) changed(node string) { h.doubtful[node] = true }

// manages notes a policy as it is now, nil that it is gone.
func (s *Source) manages(policy string, now *api.FencePolicy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.hostHA.policies[policy]
	if known && now != nil && was.Generation == now.Generation && was.UID == now.UID && was.DeletionTimestamp.Equal(now.DeletionTimestamp) {
		return
	}
	if delete(s.hostHA.policies, policy); now != nil {
		s.hostHA.policies[policy] = *now
	}
	s.doubtAll()
}

// stopped notes whether the ledger lets nothing new start; called with the lock held.
func (s *Source) stopped(is bool) {
	if s.hostHA.stopped != is {
		s.hostHA.stopped = is
		s.doubtAll()
	}
}

// doubtAll has the states of all nodes looked at; called with the lock held.
func (s *Source) doubtAll() {
	for node := range s.targets {
		s.hostHA.changed(node)
	}
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
		s.mu.Lock()
		for _, left := range slices.Sorted(maps.Keys(news))[i:] {
			s.hostHA.changed(left)
		}
		s.mu.Unlock()
		return
	}
}

// hostHANews are the states that have changed, of as many nodes as are written at once.
func (s *Source) hostHANews() map[string]api.HostHA {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.checks {
		return nil // the FenceTargets are not known yet
	}
	news := map[string]api.HostHA{}
	policies := slices.Collect(maps.Values(s.hostHA.policies))
	for node := range s.hostHA.doubtful {
		if len(news) == hostHAAtOnce {
			break
		}
		delete(s.hostHA.doubtful, node)
		t := s.targets[node]
		if t == nil || t.nodeUID == "" {
			continue // its next check writes to it first
		}
		if is := s.stateOf(node, t, policies); is != t.hostHA {
			news[node] = is
		}
	}
	return news
}

// stateOf is Host HA's state of a node; called with the lock held.
func (s *Source) stateOf(node string, t *targetView, policies []api.FencePolicy) api.HostHA {
	h := admission.Host{Name: node, Policies: policies, Stopped: s.hostHA.stopped, Fenceable: t.fenceable}
	if v, here := s.nodes[node]; here {
		h.Here, h.Labels, h.Excluded, h.ControlPlane = true, v.labels, v.excluded, v.role != kube.WorkerRole
	}
	if x := s.due.byNode[node]; x != nil {
		h.Fence = x.fence
	}
	return admission.HostHA(h)
}
