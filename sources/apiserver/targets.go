package apiserver

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// targets are the FenceTargets, as the API server names them.
const targets = "fencetargets"

// targetView is what the source needs of a FenceTarget.
type targetView struct {
	uid     types.UID
	nodeUID string
	// hostHA is what it says, fenceable what it follows from.
	hostHA    api.HostHA
	fenceable metav1.ConditionStatus
	// unfit is the reason for which the node could not be fenced; empty if there is none.
	unfit          string
	devices        int
	oldest, latest time.Time
	// asked: a person asks to have its devices read now.
	asked bool
}

// watchTargets begins to watch them, and to give turns once they were listed. A
// cluster that has no such kind yet is served all the same, without checks.
func (s *Source) watchTargets(ctx context.Context, scheme *runtime.Scheme) error {
	if s.o.CheckEvery <= 0 {
		return nil
	}
	synced, err := s.watch(ctx, scheme, watched{
		api.GroupVersion, "/apis", targets, targets, "", fields.Everything(), &api.FenceTarget{}, slimTarget, s.targetHandler(),
	})
	if err != nil {
		return err
	}
	s.wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), synced) {
			s.mu.Lock()
			s.checks = true
			s.mu.Unlock()
		}
	})
	return nil
}

func (s *Source) targetHandler() cache.ResourceEventHandler {
	seen := func(obj any) {
		t := obj.(*api.FenceTarget)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.target(t.Name, viewOfTarget(t))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.target(nameOf(obj), nil)
		},
	}
}

func viewOfTarget(t *api.FenceTarget) *targetView {
	v := &targetView{uid: t.UID, nodeUID: string(t.Status.NodeUID), devices: len(t.Status.Devices), hostHA: t.Status.HostHA}
	wish := t.AskedNow()
	v.asked = wish != "" && !t.Heeded(wish)
	if c := meta.FindStatusCondition(t.Status.Conditions, api.Fenceable); c != nil {
		if v.fenceable = c.Status; c.Status == metav1.ConditionFalse {
			v.unfit = c.Reason
		}
	}
	if at := t.Status.LastChecked; at != nil {
		v.latest, v.oldest = at.Time, at.Time
	}
	for _, d := range t.Status.Devices {
		if d.Reason == api.DeviceDenied {
			continue // it is left alone for a while, in turns that come to nothing
		}
		switch at := cmp.Or(d.LastAsked, d.LastChecked); { // a turn that came to nothing was one too
		case at == nil:
			v.oldest = time.Time{}
		case at.Time.Before(v.oldest):
			v.oldest = at.Time
		}
	}
	return v
}

// target notes how one stands now, nil that it is gone, and counts; called with the
// lock held.
func (s *Source) target(name string, now *targetView) {
	if was := s.targets[name]; was != nil && was.unfit != "" {
		s.unfenceable.WithLabelValues(was.unfit).Dec()
	}
	if now == nil {
		delete(s.targets, name)
		return
	}
	s.targets[name] = now
	s.hostHA.changed(name)
	s.pace.answered(name, now.latest)
	if now.unfit != "" {
		s.unfenceable.WithLabelValues(now.unfit).Inc()
	}
}

// turns gives those that begin before the next picture is written for certain; called
// with the lock held.
func (s *Source) turns(now time.Time, p api.LeasePicture) {
	if !s.checks {
		return
	}
	s.pace.forget(func(node string) bool { _, ok := s.nodes[node]; return ok })
	s.pace.give(now, heartbeat, s.candidates(p))
}

// turnsFor are those that are to stand in the ledger, which was read as this. To one that
// this program does not understand it adds none: what a newer one says of its own turns
// would be lost.
func (s *Source) turnsFor(l *api.FenceLedger) []api.NodeTurn {
	if l.NotUnderstood.Any() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace.ledger(s.now(), l.Status.Checks)
}

// candidates are the nodes that may be checked now; called with the lock held. A node
// with a fence, or whose Lease stands still so that one may begin at any moment, is left
// to it.
func (s *Source) candidates(p api.LeasePicture) (all []candidate) {
	if p.Cut() {
		return nil // any node's Lease may stand still
	}
	left := map[string]bool{}
	for _, l := range p.Still {
		left[l.NodeName] = true
	}
	for name, v := range s.nodes {
		if left[name] || s.due.hasOpen(name) {
			continue
		}
		c := candidate{node: name, uid: v.uid, devices: 1}
		if t := s.targets[name]; t != nil && t.nodeUID == v.uid {
			c.devices, c.oldest, c.latest, c.now = max(1, t.devices), t.oldest, t.latest, t.asked
		}
		all = append(all, c)
	}
	return all
}

// hurries: a person waits for a check that may be given a turn; called with the lock held.
func (s *Source) hurries(now time.Time, p api.LeasePicture) bool {
	return s.checks && now.Sub(s.drawn.ObservedAt.Time) >= hurry && slices.ContainsFunc(s.candidates(p), func(c candidate) bool {
		return c.now && s.pace.urgent(c, now)
	})
}

// hurry is how old the ledger's picture gets where a person waits for a check.
const hurry = time.Second

// sendChecks asks for the checks whose turn has come.
func (s *Source) sendChecks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, t := range s.pace.due(now) {
		if v, ok := s.nodes[t.node]; !ok || v.uid != t.uid || s.due.hasOpen(t.node) {
			continue
		}
		s.outbox.put(letter{
			event: s.o.Source.Check(t.node, t.uid, t.at, t.until, now), about: "check/" + t.node,
			stale: func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.now().Sub(t.at) > lateness || s.due.hasOpen(t.node)
			},
		})
	}
}

// sweep deletes the FenceTargets of nodes that are gone, except while a fence of the
// node is open: whoever looks into that must find what was known of its device.
func (s *Source) sweep(ctx context.Context) {
	for name, uid := range s.orphans() {
		if err := s.o.Client.DeleteTarget(ctx, name, uid); err != nil {
			if ctx.Err() == nil {
				s.o.Logger.Warn("FenceTarget of a node that is gone not deleted yet", "node", name, "error", err.Error())
			}
			return
		}
		s.o.Logger.Info("FenceTarget of a node that is gone deleted", "node", name)
	}
}

func (s *Source) orphans() map[string]types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]types.UID{}
	for name, t := range s.targets {
		if _, here := s.nodes[name]; !here && !s.due.hasOpen(name) {
			all[name] = t.uid
		}
	}
	return all
}
