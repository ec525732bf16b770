package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// The kinds that a Gap may be of.
const (
	nodes    = "Nodes"
	fences   = "NodeFences"
	policies = "FencePolicies"
	ledgers  = "FenceLedgers"
)

// Gap is a kind of which not all is seen as it is.
type Gap struct {
	// Kind is its plural name, such as FencePolicies, and Words say in a sentence why.
	Kind, Words string
	// Unread: nothing of it was read yet.
	Unread bool
	// Since is when that began; zero if that is not known.
	Since time.Time
}

// NotKnown is an error that says what is not known, because something was not read.
type NotKnown string

func (n NotKnown) Error() string { return string(n) }

// Lacks tells whether one of these kinds is not seen as it is. What is not seen of them is not known
// to be absent.
func (l *Look) Lacks(kinds ...string) bool { return l.gap(kinds...) != nil }

// gap is the first gap of one of these kinds; nil if there is none.
func (l *Look) gap(kinds ...string) *Gap {
	for i := range l.Gaps {
		if slices.Contains(kinds, l.Gaps[i].Kind) {
			return &l.Gaps[i]
		}
	}
	return nil
}

// unread are those of these kinds of which nothing was read yet.
func (l *Look) unread(kinds ...string) (out []string) {
	for _, g := range l.Gaps {
		if g.Unread && slices.Contains(kinds, g.Kind) {
			out = append(out, g.Kind)
		}
	}
	return out
}

// Live tells whether what was read is shown as it is now. Of what was not read yet a page says itself that
// it is not known.
func (l *Look) Live() bool {
	return !slices.ContainsFunc(l.Gaps, func(g Gap) bool { return !g.Unread })
}

// Heard is what a page says to those who do not see it: what is not seen as it is comes first.
func (l *Look) Heard(saying string) string {
	var words []string
	for _, g := range l.Gaps {
		words = append(words, g.Words)
	}
	return strings.TrimSpace(strings.Join(append(words, saying), " "))
}

// why is the answer for one node. Without an open fence it follows from what there is not, and so from
// all fences and policies. An error says that there is no such node, or that this is not known.
func (l *Look) why(node string) (view.Answer, error) {
	seen := l.Seen
	if l.Lacks(ledgers) {
		seen.Ledger = nil // whether nodefence looks is not known
	}
	a, err := seen.Why(node)
	if g := l.gap(nodes, fences); err != nil && g != nil {
		return a, NotKnown(fmt.Sprintf("whether there is a node %s is not known, because %s", node, strings.TrimSuffix(g.Words, ".")))
	}
	if err != nil {
		return a, err
	}
	lacks := l.unread(nodes, fences, policies)
	if f := l.Fence(node); len(lacks) == 0 || f != nil && f.Open() {
		return a, nil
	}
	a.What = fmt.Sprintf("Why node %s stands so is not known, because %s are not seen", node, strings.Join(lacks, " and "))
	if slices.Contains(lacks, policies) {
		a.Rule = "Which policy decides is not known"
	}
	a.Reason, a.Do, a.Run = "", "see above what is missing", ""
	return a, nil
}

// blind tells whether nodefence is blind, as far as the ledger is seen as it is.
func (l *Look) blind() bool { return !l.Lacks(ledgers) && l.Blind() }

// Notes say what holds all fences, which policies are paused, and which storms there are.
func (l *Look) Notes() []string {
	out := append(l.Brakes(), l.Pauses()...)
	if l.Ledger == nil {
		return out
	}
	if l.blind() {
		out = append(out, l.Blindness())
	}
	return append(out, l.Storms(func(t time.Time) string { return l.At(t).Text })...)
}

// unnamed says which policies hold or miss more nodes than their status names.
func unnamed(all []api.FencePolicy, lines []Line) (out []string) {
	for i := range all {
		st := &all[i].Status
		if more := int(st.HeldCount) - len(st.Held) - heldByRule(&all[i], lines); more > 0 {
			out = append(out, fmt.Sprintf("Policy %s holds %d nodes: %s.", all[i].Name, st.HeldCount,
				view.Count(more, "more is not named, and stands here as if it were not held", "more are not named, and stand here as if they were not held")))
		}
		if more := int(st.MissingCount) - len(st.Missing); more > 0 {
			out = append(out, fmt.Sprintf("Policy %s has %d missing nodes: %s.", all[i].Name, st.MissingCount,
				view.Count(more, "more is not named, and does not stand here", "more are not named, and do not stand here")))
		}
	}
	return out
}

// heldByRule is how many nodes stand here as held, or as left alone, that the policy's status does not name.
func heldByRule(p *api.FencePolicy, lines []Line) (n int) {
	named := map[string]bool{}
	for _, h := range p.Status.Held {
		named[h.NodeName] = true
	}
	for _, x := range lines {
		if is := x.Row.State; x.Policy == p.Name && !named[x.Node] && (is == view.Held || is == view.LeftAlone) {
			n++
		}
	}
	return n
}
