package page

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// State is how a node stands: a word, and the kind of the word, which has a shape and a colour.
type State struct {
	Word string
	// Kind is one of kinds.
	Kind string
}

// kinds are the kinds of states, what needs a person first.
var kinds = []string{"failed", "missing", "held", "fencing", "silent", "fenced", "unfenceable", "unwatched", "ready"}

// Rank is the kind's place among all.
func (s State) Rank() int { return slices.Index(kinds, s.Kind) }

// Well tells whether there is nothing to be seen at the node.
func (s State) Well() bool { return s.Kind == "ready" || s.Kind == "unwatched" }

// Line is one node.
type Line struct {
	view.Row
	State State
	Zone  string
	// Cordoned tells whether the node takes no new pods.
	Cordoned bool
}

// Silent and NotReady are nodes with no fence yet.
const (
	silent   = "Silent"
	notReady = "NotReady"
)

// lines are all nodes that exist, have an open fence, or are missing, what needs a person first.
func (l *Look) lines() []Line {
	var out []Line
	under := map[string]bool{}
	still := l.still()
	for _, r := range l.Rows() {
		under[r.Node] = true
		out = append(out, l.line(r, still[r.Node]))
	}
	for i := range l.Nodes {
		if n := &l.Nodes[i]; !under[n.Name] {
			out = append(out, l.line(view.Row{Node: n.Name, Ready: ready(n), State: view.Watched}, still[n.Name]))
		}
	}
	slices.SortStableFunc(out, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.State.Rank(), b.State.Rank()), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// still are the Leases that missed a renewal, by node. None is known from a picture that is too old, be it
// that nodefence wrote no other or that no other is seen.
func (l *Look) still() map[string]*api.StillLease {
	out := map[string]*api.StillLease{}
	if l.Ledger != nil && !l.Blind() {
		for i := range l.Ledger.Status.Leases.Still {
			x := &l.Ledger.Status.Leases.Still[i]
			out[x.NodeName] = x
		}
	}
	return out
}

// line is a row with its state.
func (l *Look) line(r view.Row, still *api.StillLease) Line {
	out := Line{Row: r}
	if n := l.Node(r.Node); n != nil {
		out.Zone, out.Cordoned = n.Labels[corev1.LabelTopologyZone], n.Spec.Unschedulable
		if r.Since == nil && r.Ready != string(corev1.ConditionTrue) {
			out.Since = readySince(n)
		}
	}
	out.State = stateOf(r)
	switch {
	case out.State.Kind != "silent" && out.State.Kind != "unfenceable" && !out.State.Well():
	case r.Ready != string(corev1.ConditionTrue):
		out.State, out.Message = State{silent, "silent"}, "its Ready condition is "+r.Ready
		if r.Ready == string(corev1.ConditionFalse) {
			out.State.Word = notReady
		}
		if r.Message != "" {
			out.Message += "; its last fence ended: " + r.Message
		}
	case still != nil && still.Stale: // one renewal may be late
		out.State, out.Reason, out.Message, out.Since = State{silent, "silent"}, "", "its Lease has missed two renewals", &still.Since.Time
	case len(l.unread(fences, policies)) > 0:
		out.State = State{"Not known", "unwatched"}
	}
	return out
}

// stateOf is the state of a row, the node's own health aside.
func stateOf(r view.Row) State {
	switch r.State {
	case view.Watched:
		if r.Policy == "" {
			return State{"No policy", "unwatched"}
		}
		return State{"Ready", "ready"}
	case view.Held:
		return State{"Held", "held"}
	case view.LeftAlone:
		return State{"Left alone", "unwatched"}
	case view.Unfenced:
		return State{silent, "silent"}
	case view.NotFenceable:
		return State{"Not fenceable", "unfenceable"}
	case view.Missing:
		return State{r.State, "missing"}
	case string(api.Failed):
		return State{r.State, "failed"}
	case string(api.Fenced):
		return State{r.State, "fenced"}
	case string(api.Pending):
		if r.Reason == api.DryRun {
			return State{"Dry run", "held"}
		}
		return State{r.State, "held"}
	}
	return State{r.State, "fencing"}
}

func ready(n *corev1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return string(c.Status)
		}
	}
	return string(corev1.ConditionUnknown)
}
