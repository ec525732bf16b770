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

// The state of each node in Host HA follows from what the source watches anyway. So the
// source writes this state when it changes. Whether a node that could not be fenced is to be
// fenced at all follows from the same, and is counted by.

const (
	// hostHAEvery is the interval that joins changes which come together into one write.
	hostHAEvery = 500 * time.Millisecond
	// hostHAAtOnce bounds the writes of one interval: one policy may be about all nodes.
	hostHAAtOnce = 50
)

// hostHAs writes changed states until ctx ends. It first waits for the policies: without
// them, every node would be written as DISABLED.
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

// saveHostHA writes the states that have changed. A state that can't be written is tried
// again.
func (s *Source) saveHostHA(ctx context.Context) {
	news := s.hostHANews()
	for i, node := range slices.Sorted(maps.Keys(news)) {
		err := s.o.Client.SaveHostHA(ctx, node, news[node])
		if err == nil {
			continue
		}
		if ctx.Err() == nil {
			s.o.Logger.Warn("cannot write a node's Host HA state; trying again", "node", node, "error", err.Error())
		}
		for _, left := range slices.Sorted(maps.Keys(news))[i:] {
			s.targets.changed(left)
		}
		return
	}
}

// hostHANews returns the states that have changed, for at most hostHAAtOnce nodes.
func (s *Source) hostHANews() map[string]api.HostHA {
	news := map[string]api.HostHA{}
	d := s.targets.doubted()
	for node, t := range d.targets {
		if len(news) == hostHAAtOnce {
			s.targets.changed(node)
			continue
		}
		h := s.hostOf(node, t, d)
		if is := admission.HostHA(h); is != t.hostHA {
			news[node] = is
		}
		if t.unfit != "" {
			s.targets.noteVerdict(node, admission.ToBeFenced(h))
		}
	}
	return news
}

// hostOf has all that a node's state in Host HA follows from.
func (s *Source) hostOf(node string, t targetView, d doubts) admission.Host {
	h := admission.Host{Name: node, Policies: d.policies, Stopped: d.stopped, Fenceable: t.fenceable, Fence: s.due.Fence(node)}
	if v, here := s.nodes.get(node); here {
		h.Here, h.Labels, h.Excluded, h.ControlPlane = true, v.labels, v.excluded, v.role != kube.WorkerRole
	}
	return h
}

// exempt reports whether the present policies would not have a node fenced. Of a node that is gone
// they say nothing, and its fence says all.
func (s *Source) exempt(node string) bool {
	h := s.hostOf(node, targetView{}, doubts{policies: s.targets.policies()})
	return h.Here && !admission.ToBeFenced(h)
}
