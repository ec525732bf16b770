package page

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/sources/kubectl-fence/act"
	"github.com/nodefence/nodefence/sources/kubectl-fence/view"
)

// Policies is the page of all policies.
type Policies struct {
	*Look
	All []PolicyPage
}

// PolicyPage is one policy: what it selects, and what it would do now.
type PolicyPage struct {
	PolicyLine
	Precedence int32
	Selects    string
	// Decides are the first of the nodes that it decides about, and DecidesMore how many more there are.
	Decides     []string
	DecidesMore int
	// When are the conditions under which it fences, and Does what a fence then does.
	When, Does []string
	Effective  []string
	HeldNodes  []api.HeldNode
	// HeldMore is how many more nodes are held, which the policy's status does not name.
	HeldMore   string
	Last       []api.LastDecision
	ObservedAt *api.Time
	Verbs      []Verb
}

// mostNames bounds the names of nodes that are listed of a policy.
const mostNames = 100

// NewPolicies is the page of all policies.
func NewPolicies(l *Look) *Policies {
	out := &Policies{Look: l}
	by := map[string][]string{}
	for _, r := range l.Rows() {
		by[r.Policy] = append(by[r.Policy], r.Node)
	}
	for i, x := range l.policyLines() {
		out.All = append(out.All, l.policy(&l.Policies[i], x, by[x.Name]))
	}
	return out
}

func (l *Look) policy(p *api.FencePolicy, line PolicyLine, nodes []string) PolicyPage {
	out := PolicyPage{
		PolicyLine: line, Precedence: policy.Precedence(p), Selects: selectorWords(p.Spec.Selector), When: when(p),
		Effective: p.Status.Effective, HeldNodes: p.Status.Held, Last: p.Status.LastDecisions, ObservedAt: p.Status.ObservedAt, Decides: nodes,
	}
	if more := int(p.Status.HeldCount) - len(p.Status.Held); more > 0 {
		out.HeldMore = view.Count(more, "more is not named.", "more are not named.")
	}
	if more := len(nodes) - mostNames; more > 0 {
		out.Decides, out.DecidesMore = nodes[:mostNames], more
	}
	for _, n := range nodes {
		if decides, r := l.Deciding(n); decides != nil && decides.Name == p.Name {
			for _, words := range act.Follows(&api.Decision{ResolvedPolicy: *r, DevicesError: "the node's devices"}, nil, l.Now) {
				out.Does = append(out.Does, strings.TrimPrefix(words, "- "))
			}
			break
		}
	}
	out.Verbs = []Verb{{"pause", "Pause", "/do/pause/" + p.Name}}
	if len(p.Spec.PauseRequests) > 0 {
		out.Verbs = append(out.Verbs, Verb{"resume", "Resume", "/do/resume/" + p.Name})
	}
	return out
}

// selectorWords are a selector as kubectl get -l has it.
func selectorWords(s *api.LabelSelector) string {
	if s == nil {
		return "no node: spec.selector is missing"
	}
	k := s.Kubernetes()
	if len(k.MatchLabels)+len(k.MatchExpressions) == 0 {
		return "every node"
	}
	return "nodes with " + metav1.FormatLabelSelector(k)
}

// when says under which conditions a node is fenced.
func when(p *api.FencePolicy) []string {
	var out []string
	for _, c := range p.Spec.UnhealthyConditions {
		words := fmt.Sprintf("%s is %s", c.Type, c.Status)
		if d := c.Duration.Or(0).Duration; d > 0 {
			words += " for " + d.String()
		}
		out = append(out, words)
	}
	if e := p.Spec.EarlyProbe; e != nil {
		out = append(out, "its Lease stands still, and its machine reads off")
	}
	if t := p.Spec.NodeStartupTimeout; t != nil {
		out = append(out, "it was not Ready within "+t.Or(0).Duration.String()+" of its creation")
	}
	if p.Spec.MissingNodes != nil || p.Spec.Machines != nil {
		out = append(out, "it is expected, and its Node object is missing")
	}
	return out
}

// Title names the page.
func (p *Policies) Title() string {
	if len(p.All) == 0 && p.Lacks(policies) {
		return "Policies not known – nodefence"
	}
	return view.Count(len(p.All), "policy", "policies") + " – nodefence"
}

// Saying is the sentence that is read out when it changes.
func (p *Policies) Saying() string {
	var words []string
	for _, x := range p.All {
		if x.Brake != "" {
			words = append(words, x.Name+": "+x.Brake)
		}
	}
	return strings.Join(words, ". ")
}

// History is the page of all fences that there are reports of, and of those that are open.
type History struct {
	*Look
	// Node is the one that is shown alone; empty for all.
	Node string
	Past []view.Past
	More int
}

// mostPast bounds the fences that are listed.
const mostPast = 300

// NewHistory is the page of all fences; of one node, unless it is empty.
func NewHistory(l *Look, node string) *History {
	out := &History{Look: l, Node: node, Past: view.History(l.Reports, l.Fences, node)}
	if more := len(out.Past) - mostPast; more > 0 {
		out.Past, out.More = out.Past[:mostPast], more
	}
	return out
}

// Title names the page.
func (h *History) Title() string { return "History of fences – nodefence" }

// Saying is the sentence that is read out when it changes.
func (h *History) Saying() string {
	if len(h.Past) == 0 && h.Lacks(fences, reports) {
		return "Which fences there were is not known."
	}
	return view.Count(len(h.Past)+h.More, "fence.", "fences.")
}
