package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// The kinds that a Gap may be of.
const (
	nodes    = "Nodes"
	fences   = "NodeFences"
	policies = "FencePolicies"
	ledgers  = "FenceLedgers"
	reports  = "FenceReports"
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

// Absent says which part of nodefence does not answer, as far as what shows it is seen as it is.
func (l *Look) Absent() string {
	seen := l.Seen
	if l.Lacks(ledgers) {
		seen.Ledger = nil
	}
	if l.Lacks(fences) {
		seen.Fences = nil
	}
	if l.Lacks(policies) {
		seen.Policies = nil
	}
	return view.WithoutAges(seen.Absent())
}

// Notes say what holds all fences, which policies are paused, and which storms there are.
func (l *Look) Notes() []string {
	out := append(l.Brakes(), l.Pauses()...)
	if l.Ledger == nil {
		return out
	}
	return append(out, l.Storms(func(t time.Time) string { return l.At(t).Text })...)
}

// rows are those of these lines.
func rows(lines []Line) []view.Row {
	out := make([]view.Row, len(lines))
	for i := range lines {
		out[i] = lines[i].Row
	}
	return out
}
