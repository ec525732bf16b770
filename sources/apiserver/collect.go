package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

const (
	// keptFor is how long what is known of a node outlives its Node object.
	keptFor = 7 * 24 * time.Hour
	// goneSince is in the enrolment of a node that is gone: when the source first saw
	// that, by the API server's clock (S30). A process remembers no week.
	goneSince = "nodefence.io/node-gone-since"
	// atOnce bounds what one sweep writes, so that a backlog of years is no burst.
	atOnce = 100
)

// closedFence is a NodeFence at rest, as it stands.
type closedFence struct {
	uid     types.UID
	version string
	since   time.Time
}

// closed notes a NodeFence that is finished for good, or that it is not; called with
// the lock held. One that waits for its finalizer, or that a newer nodefence wrote, is
// not ours to judge (S21).
func (s *Source) closed(f *api.NodeFence) {
	st := f.Status
	if f.Open() || st.PhaseSince == nil || st.MinReaderVersion > api.Schema || f.DeletionTimestamp != nil || len(f.Finalizers) > 0 {
		delete(s.finished, f.Name)
		return
	}
	s.finished[f.Name] = closedFence{f.UID, f.ResourceVersion, st.PhaseSince.Time}
}

// expectedBy are the nodes that a policy expects: those it names, and those whose
// Machines are missing a Node or failed, as the second waker keeps in its status.
func expectedBy(p *api.FencePolicy) (nodes []string) {
	if x := p.Spec.MissingNodes; x != nil {
		nodes = slices.Clone(x.NodeNames)
	}
	for _, m := range p.Status.Missing {
		nodes = append(nodes, m.NodeName)
	}
	for _, m := range p.Status.FailedMachines {
		nodes = append(nodes, m.Record())
	}
	return nodes
}

// expects notes them.
func (s *Source) expects(policy string, nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected[policy] = nodes
}

// expectsToo notes them beside those that the policy expected before.
func (s *Source) expectsToo(policy string, nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat(s.expected[policy], nodes)
	slices.Sort(all)
	s.expected[policy] = slices.Compact(all)
}

// collects deletes what is left of nodes that are gone, until ctx ends. It waits for
// the policies: an expected node is not gone for good.
func (s *Source) collects(ctx context.Context, policies cache.InformerSynced) {
	if !cache.WaitForCacheSync(ctx.Done(), policies) {
		return
	}
	tick := time.NewTicker(s.o.Resync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.collect(ctx); err != nil && ctx.Err() == nil {
				s.o.Logger.Warn("what is left of a node that is gone not put away yet", "error", err.Error())
			}
		}
	}
}

func (s *Source) collect(ctx context.Context) error {
	for _, l := range s.leftovers() {
		// What was written meanwhile is looked at again.
		if err := s.putAway(ctx, l); err != nil && !errors.Is(err, kube.ErrConflict) {
			return fmt.Errorf("%s of node %s: %w", l.what, l.node, err)
		}
	}
	return nil
}

// leftover is one object of a node and what is to become of it.
type leftover struct {
	what, node string
	uid        types.UID
	version    string
	// mark is what goneSince is to say, if it is not to be deleted.
	mark   string
	delete bool
}

// leftovers are what there is to do, while somebody watches the Nodes. A record goes
// after the enrolment of its node, which says for how long that has been gone.
func (s *Source) leftovers() (all []leftover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watchOn(nodes).broken.IsZero() {
		return nil
	}
	needed := map[string]bool{}
	for _, names := range s.expected {
		for _, node := range names {
			needed[node] = true
		}
	}
	here := func(node string) bool { _, ok := s.nodes[node]; return ok }
	wanted := func(node string) bool { return here(node) || needed[node] || s.due.hasOpen(node) }
	now := s.now()
	all = s.enrol.leftovers(here, wanted, now)
	for node, f := range s.finished {
		if !wanted(node) && !s.enrol.has(node) && now.Sub(f.since) > keptFor {
			all = append(all, leftover{what: "NodeFence", node: node, uid: f.uid, version: f.version, delete: true})
		}
	}
	return all[:min(len(all), atOnce)]
}

func (e *enrolment) has(node string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.known[node]
	return ok
}

// leftovers are the enrolments whose mark is wrong, and those that have stood marked
// for long enough.
func (e *enrolment) leftovers(here, wanted func(node string) bool, now time.Time) (all []leftover) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for node, x := range e.known {
		if x.object == "" || x.uid == "" {
			continue // not seen as it stands yet, or none of ours
		}
		l := leftover{what: "enrolment", node: node, uid: x.object, version: x.version}
		at, err := time.Parse(time.RFC3339, x.gone)
		switch {
		case here(node) && x.gone == "":
			continue
		case here(node):
		case err != nil:
			l.mark = now.UTC().Format(time.RFC3339)
		case wanted(node) || now.Sub(at) <= keptFor:
			continue
		default:
			l.delete = true
		}
		all = append(all, l)
	}
	return all
}

func (s *Source) putAway(ctx context.Context, l leftover) error {
	name := kube.EnrolledName(l.node)
	var err error
	switch {
	case !l.delete:
		return s.enrol.mark(ctx, name, l)
	case l.what == "enrolment":
		err = s.o.Client.DeleteConfigMap(ctx, s.o.Namespace, name, l.uid, l.version)
	default:
		err = s.o.Client.DeleteFence(ctx, l.node, l.uid, l.version)
	}
	if err == nil {
		s.o.Logger.Info("deleted, as its node has been gone for long", "what", l.what, "node", l.node)
	}
	return err
}

// mark writes since when the node is gone, or that it is not.
func (e *enrolment) mark(ctx context.Context, name string, l leftover) error {
	cm, err := e.client.ConfigMap(ctx, e.namespace, name)
	if err != nil || cm == nil || cm.UID != l.uid || cm.ResourceVersion != l.version {
		return err
	}
	if delete(cm.Annotations, goneSince); l.mark != "" {
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations[goneSince] = l.mark
	}
	return e.client.SaveConfigMap(ctx, cm)
}

// uncount ends the counters of a node that is gone; called with the lock held.
func (s *Source) uncount(node string) {
	s.counted.DeletePartialMatch(prometheus.Labels{"node": node})
}

// uncountAll is at the end of a lead: who stands by sees no node go, and what it said of
// the nodes would be said beside what the one that leads says.
func (s *Source) uncountAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.Reset()
	s.unfenceable.Reset()
}
