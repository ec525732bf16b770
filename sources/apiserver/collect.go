package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

const (
	// keptFor is how long records of a node are kept after its Node object is gone.
	keptFor = 7 * 24 * time.Hour
	// atOnce bounds the writes of one sweep, so that a backlog of years makes no burst.
	atOnce = 100
)

// closedFence identifies a NodeFence at rest in one version.
type closedFence struct {
	uid     types.UID
	version string
	since   time.Time
}

// leftovers knows which objects of a node that is gone may be deleted.
type leftovers struct {
	mu sync.Mutex
	// expected has the nodes that each policy expects; finished has the NodeFences that are
	// at rest, by node.
	expected map[string][]string
	finished map[string]closedFence
}

func newLeftovers() *leftovers {
	l := &leftovers{}
	l.begin()
	return l
}

// begin resets the store before each lead.
func (l *leftovers) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected, l.finished = map[string][]string{}, map[string]closedFence{}
}

// closed notes whether a NodeFence is finished for good. A NodeFence that waits for its
// finalizer is not finished. A NodeFence that a newer nodefence wrote is not ours to judge
// (S21: what is not understood leads to nothing).
func (l *leftovers) closed(f *api.NodeFence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := f.Status
	if f.Open() || st.PhaseSince == nil || st.MinReaderVersion > api.Schema || f.DeletionTimestamp != nil || len(f.Finalizers) > 0 {
		delete(l.finished, f.Name)
		return
	}
	l.finished[f.Name] = closedFence{f.UID, f.ResourceVersion, st.PhaseSince.Time}
}

// gone notes that the NodeFence was deleted.
func (l *leftovers) gone(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.finished, node)
}

// expects replaces the nodes that a policy expects.
func (l *leftovers) expects(policy string, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected[policy] = nodes
}

// expectsToo adds to the nodes that the policy expected before.
func (l *leftovers) expectsToo(policy string, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Concat(l.expected[policy], nodes)
	slices.Sort(all)
	l.expected[policy] = slices.Compact(all)
}

// look returns the nodes that policies expect, and the NodeFences that have been at rest
// for longer than keptFor, by node.
func (l *leftovers) look(now time.Time) (expected map[string]bool, rested map[string]closedFence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	expected, rested = map[string]bool{}, map[string]closedFence{}
	for _, names := range l.expected {
		for _, node := range names {
			expected[node] = true
		}
	}
	for node, f := range l.finished {
		if now.Sub(f.since) > keptFor {
			rested[node] = f
		}
	}
	return expected, rested
}

// expectedBy returns the nodes that a policy expects: those that it names, and those whose
// Machines failed or have no Node, as policystatus records in the policy's status.
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

// collects deletes the leftovers of nodes that are gone, until ctx ends. It first waits for
// the policies, because a node that a policy expects is not gone for good.
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
				s.o.Logger.Warn("cannot delete the leftovers of a node that is gone; the next sweep tries again", "error", err.Error())
			}
		}
	}
}

func (s *Source) collect(ctx context.Context) error {
	for _, l := range s.leftovers() {
		// A conflict means that the object was just written: the next sweep looks at it
		// again.
		if err := s.putAway(ctx, l); err != nil && !errors.Is(err, kube.ErrConflict) {
			return fmt.Errorf("%s of node %s: %w", l.what, l.node, err)
		}
	}
	return nil
}

// leftover is one object of a node that is gone, and what happens to it.
type leftover struct {
	what, node string
	uid        types.UID
	version    string
	// mark is the new value of slim.GoneSince, if the object is not deleted.
	mark   string
	delete bool
}

// leftovers returns what there is to do; nothing while nobody watches the Nodes. A
// NodeFence is deleted after the enrolment of its node, because the enrolment says since
// when the node has been gone.
func (s *Source) leftovers() (all []leftover) {
	if s.standing.broken(nodes) {
		return nil
	}
	now := s.now()
	expected, rested := s.left.look(now)
	known, open := s.nodes.uids(), s.due.Open()
	here := func(node string) bool { _, ok := known[node]; return ok }
	wanted := func(node string) bool { return here(node) || expected[node] || open[node] != nil }
	all = s.enrol.leftovers(here, wanted, now)
	for node, f := range rested {
		if !wanted(node) && !s.enrol.has(node) {
			all = append(all, leftover{what: "NodeFence", node: node, uid: f.uid, version: f.version, delete: true})
		}
	}
	return all[:min(len(all), atOnce)]
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
		s.o.Logger.Info("deleted: its node has been gone for longer than a week", "what", l.what, "node", l.node)
	}
	return err
}
