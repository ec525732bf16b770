package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/spelling"
)

// Seen is what was read of a cluster.
type Seen struct {
	Nodes    []corev1.Node
	Policies []api.FencePolicy
	Fences   []api.NodeFence
	Targets  []api.FenceTarget
	Ledger   *api.FenceLedger
	// Reports are those of fences that are over, where they were read.
	Reports []api.FenceReport
	// Events are those about one Node, where they were read.
	Events []corev1.Event
	// Acts are those of people on brakes, where they were read.
	Acts []api.FenceAct
	// Source is the Lease of the source that leads; nil if there is none. SourceRead tells whether it was read.
	Source     *coordinationv1.Lease
	SourceRead bool
	// Namespace is nodefence's; OwnNamespace where it is empty.
	Namespace string
	// Now is when it was read.
	Now time.Time

	places *places
}

// places are where in the lists the objects of a name are.
type places struct{ nodes, fences, targets map[string]int }

// Indexed is the same with an index, for those who ask about each of thousands of nodes. The lists
// must not change after that.
func (s Seen) Indexed() Seen {
	s.places = &places{
		nodes:   index(s.Nodes, func(n *corev1.Node) string { return n.Name }),
		fences:  index(s.Fences, func(f *api.NodeFence) string { return f.Name }),
		targets: index(s.Targets, func(t *api.FenceTarget) string { return t.Name }),
	}
	return s
}

func index[T any](all []T, of func(*T) string) map[string]int {
	out := make(map[string]int, len(all))
	for i := range all {
		out[of(&all[i])] = i
	}
	return out
}

// placed is the object of that name by its index, nil if there is none.
func placed[T any](all []T, at map[string]int, name string) *T {
	if i, ok := at[name]; ok {
		return &all[i]
	}
	return nil
}

// named is the object of that name, nil if there is none.
func named[T any](all []T, name string, of func(*T) string) *T {
	for i := range all { // by index: a Node or a NodeFence is large
		if of(&all[i]) == name {
			return &all[i]
		}
	}
	return nil
}

// Node is the Node of that name, nil if there is none.
func (s *Seen) Node(name string) *corev1.Node {
	if s.places != nil {
		return placed(s.Nodes, s.places.nodes, name)
	}
	return named(s.Nodes, name, func(n *corev1.Node) string { return n.Name })
}

// Fence is the record of that node, nil if there is none.
func (s *Seen) Fence(node string) *api.NodeFence {
	if s.places != nil {
		return placed(s.Fences, s.places.fences, node)
	}
	return named(s.Fences, node, func(f *api.NodeFence) string { return f.Name })
}

// Target is the FenceTarget of that node, nil if there is none.
func (s *Seen) Target(node string) *api.FenceTarget {
	if s.places != nil {
		return placed(s.Targets, s.places.targets, node)
	}
	return named(s.Targets, node, func(t *api.FenceTarget) string { return t.Name })
}

func (s *Seen) policy(name string) *api.FencePolicy {
	return named(s.Policies, name, func(p *api.FencePolicy) string { return p.Name })
}

// Deciding is the policy that decides about a node now, and what all policies that select it come
// to; nil if none does.
func (s *Seen) Deciding(node string) (*api.FencePolicy, *api.ResolvedPolicy) {
	n := s.Node(node)
	if n == nil {
		if f := s.Fence(node); f != nil && f.Open() {
			return s.policy(f.Status.Decision.Policy.Name), &f.Status.Decision.ResolvedPolicy
		}
		return nil, nil
	}
	r, ok := policy.ResolvePolicy(s.Policies, n.Name, n.Labels)
	if !ok {
		return nil, nil
	}
	return s.policy(r.Policy.Name), &r
}

// held says why a node is not fenced; nil if nothing holds it. p and r are what Deciding says of it.
func (s *Seen) held(node string, p *api.FencePolicy, r *api.ResolvedPolicy) *api.HeldNode {
	if h := s.listed(node); h != nil && !hold.Intended(h.Reason) {
		return h
	}
	return s.findExemption(node, p, r)
}

// listed is what a policy's status says of a node that is not fenced. A status is written now and then:
// one that is older than the end of the node's last fence may be about that fence.
func (s *Seen) listed(node string) *api.HeldNode {
	var ended *api.Time
	if f := s.Fence(node); f != nil {
		ended = f.LastEnd()
	}
	for i := range s.Policies {
		st := &s.Policies[i].Status
		if ended != nil && st.ObservedAt != nil && st.ObservedAt.Before(ended) {
			continue
		}
		for j := range st.Held {
			if h := &st.Held[j]; h.NodeName == node {
				return h
			}
		}
	}
	return nil
}

// unfenceable is the condition by which a node could not be fenced; nil if it could, or if
// nothing is known.
func unfenceable(t *api.FenceTarget) *metav1.Condition {
	if t == nil {
		return nil
	}
	if c := meta.FindStatusCondition(t.Status.Conditions, api.Fenceable); c != nil && c.Status == metav1.ConditionFalse {
		return c
	}
	return nil
}

// readyWord is how a node's Ready condition reads.
func readyWord(n *corev1.Node) string {
	if n == nil {
		return "NoNode"
	}
	if c := readyCondition(n); c != nil {
		return string(c.Status)
	}
	return "Unknown"
}

// readyCondition is a node's Ready condition; nil if it has none.
func readyCondition(n *corev1.Node) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return nil
}

// NoSuchNode names the nodes that exist, those with a similar name first.
func NoSuchNode(name string, all []string) error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(spelling.Apart(name, a), spelling.Apart(name, b)), strings.Compare(a, b))
	})
	all = slices.Compact(all)
	there := strings.Join(all[:min(len(all), 10)], ", ")
	if more := len(all) - 10; more > 0 {
		there += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("node %s does not exist; there are %s", name, cmp.Or(there, "none"))
}

// all are the names of all nodes that exist, have a record, or are missing.
func (s *Seen) all() []string {
	out := s.Names()
	for _, x := range s.missing() {
		out = append(out, x.name())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Names are the names of all nodes that exist or have a record.
func (s *Seen) Names() []string {
	var out []string
	for i := range s.Nodes {
		out = append(out, s.Nodes[i].Name)
	}
	for i := range s.Fences {
		out = append(out, s.Fences[i].Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
