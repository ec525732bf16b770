package apiserver

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
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
// finalizer is not finished. The record of a power cut that is refuted is kept until a person has looked (S1). A NodeFence that a newer nodefence wrote is not ours to judge
// (S21: what is not understood leads to nothing).
func (l *leftovers) closed(f *api.NodeFence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := f.Status
	if f.Open() || st.PhaseSince == nil || st.MinReaderVersion > api.Schema || f.DeletionTimestamp != nil || len(f.Finalizers) > 0 || f.Refuted() != nil {
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

// leftover is one object of a node that is gone, and what happens to it.
type leftover struct {
	what, node string
	uid        types.UID
	version    string
	// mark is the new value of slim.GoneSince, if the object is not deleted.
	mark   string
	delete bool
}

// leftovers returns the enrolments whose mark is wrong, and those that have been marked for
// longer than keptFor.
func (e *enrolment) leftovers(here, wanted func(node string) bool, now time.Time) (all []leftover) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for node, x := range e.known {
		if x.object == "" || x.uid == "" {
			continue // not yet seen by the watch, or not written by nodefence
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

// mark writes since when the node is gone, or that it is not gone.
func (e *enrolment) mark(ctx context.Context, name string, l leftover) error {
	cm, err := e.client.ConfigMap(ctx, e.namespace, name)
	if err != nil || cm == nil || cm.UID != l.uid || cm.ResourceVersion != l.version {
		return err
	}
	if delete(cm.Annotations, slim.GoneSince); l.mark != "" {
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations[slim.GoneSince] = l.mark
	}
	return e.client.SaveConfigMap(ctx, cm)
}
