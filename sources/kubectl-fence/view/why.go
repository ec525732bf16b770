package view

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Answer is why a node stands where it stands.
type Answer struct {
	Node   string     `json:"node"`
	Reason api.Reason `json:"reason,omitempty"`
	// What says where it stands, and what holds it.
	What string `json:"what"`
	// Rule says which rule that is, with its numbers.
	Rule string `json:"rule"`
	// Next says when nodefence looks at it next.
	Next string `json:"next"`
	// Do says what a person can do, and Run is the command for it, if there is one.
	Do  string `json:"do"`
	Run string `json:"run,omitempty"`
}

// Why answers for one node. An error says that there is no such node.
func (s *Seen) Why(node string) (Answer, error) {
	f, x := s.Fence(node), s.missed(node)
	if s.Node(node) == nil && f == nil && x == nil {
		return Answer{}, NoSuchNode(node, s.all())
	}
	p, resolved := s.Deciding(node)
	a := Answer{Node: node, Rule: s.rule(p, resolved)}
	message := s.what(&a, f, s.held(node, p, resolved), p, x)
	troubled := s.trouble(&a, f)
	a.Next = s.next(f)
	if a.Reason == "" { // nothing holds it, and what says so has the advice
		return a, nil
	}
	r := RemedyFor(a.Reason)
	if x != nil && x.Held != "" && a.Reason == api.NodeMissing {
		r = RemedyFor(api.Excluded)
	}
	switch {
	case f != nil && f.Open():
		r = resume(r, f)
	case a.Reason == api.Aborted:
		r = askAnother
	}
	if r == goesOn && s.Blind() {
		r = RemedyFor(api.LeasePictureOld) // it may not go on
	}
	if troubled {
		r.Do = mendRefusal
	}
	a.Do, a.Run = r.Do, r.Run
	name := "POLICY"
	if h := s.holding(message, p); h != nil {
		name = h.Name
	}
	names := strings.NewReplacer("NODE", node, "POLICY", name)
	a.Do, a.Run = names.Replace(a.Do), names.Replace(a.Run)
	return a, nil
}

// policyNamed is how nodefence names one policy in a message.
var policyNamed = regexp.MustCompile(`\bpolicy ([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)`)

// holding is the policy that the message names: the pauses, windows and limits of every policy that selects
// a node hold. Where the message names none that there is, it is the policy that decides.
func (s *Seen) holding(message string, decides *api.FencePolicy) *api.FencePolicy {
	if m := policyNamed.FindStringSubmatch(message); m != nil {
		if p := s.policy(m[1]); p != nil {
			return p
		}
	}
	return decides
}

// what says where the node stands, and returns what nodefence says of its reason.
func (s *Seen) what(a *Answer, f *api.NodeFence, h *api.HeldNode, p *api.FencePolicy, x *expected) (message string) {
	n := s.Node(a.Node)
	switch {
	case f != nil && f.Open():
		st := &f.Status
		a.Reason, message = st.Reason, st.Message
		a.What = fmt.Sprintf("Fence %d of node %s stands in phase %s for %s (%s)", st.FenceNumber, a.Node, f.CurrentPhase(), s.since(st.PhaseSince), said(st.Reason, st.Message)) + s.illAgain(f)
	case h != nil:
		a.Reason, message = h.Reason, h.Message
		a.What = fmt.Sprintf("Node %s is not being fenced (%s)", a.Node, said(h.Reason, h.Message))
	case x != nil:
		s.gone(a, f, x)
	case n == nil:
		a.What = fmt.Sprintf("Node %s does not exist any more, and its last fence ended: %s", a.Node, ended(f))
		a.Do = "nothing"
	case p == nil:
		a.Reason = api.NoPolicy
		a.What = fmt.Sprintf("Node %s is not being fenced (NoPolicy: no FencePolicy selects it)", a.Node)
	case readyWord(n) != string(corev1.ConditionTrue):
		s.unfenced(a, f)
	case unfenceable(s.Target(a.Node)) != nil:
		c := unfenceable(s.Target(a.Node))
		a.Reason = api.Reason(c.Reason)
		a.What = fmt.Sprintf("Nothing is wrong with node %s that its policy looks for, but it could not be fenced (%s)", a.Node, said(a.Reason, c.Message))
	default:
		a.What = fmt.Sprintf("Nothing is wrong with node %s that its policy looks for: Ready is %s, and no fence is open", a.Node, readyWord(n))
		if f != nil && f.Status.FenceNumber > 0 {
			a.What += "; its last fence ended: " + ended(f)
		}
		a.Do, a.Run = "nothing; see what a fence would do", "kubectl fence plan "+a.Node
	}
	return message
}

// illAgain says of a node whose machine is back that the node is not Ready; empty if the node is Ready. A kubelet that
// starts reports Ready=False, and Ready=True later: a node whose Ready turned Unknown in this phase has failed again.
func (s *Seen) illAgain(f *api.NodeFence) string {
	n := s.Node(f.Spec.NodeName)
	if f.CurrentPhase() != api.Recovering || n == nil || readyWord(n) == string(corev1.ConditionTrue) {
		return ""
	}
	c := readyCondition(n)
	words := fmt.Sprintf("; its Ready is %s", readyWord(n))
	if c == nil || f.Status.PhaseSince == nil {
		return words
	}
	since := api.Time{Time: c.LastTransitionTime.Time}
	words += " for " + s.since(&since)
	if c.Status == corev1.ConditionUnknown && c.LastTransitionTime.After(f.Status.PhaseSince.Time) {
		words += ": it has failed again; nodefence waits for it until recovery.bootTimeout of its policy is over"
	}
	return words
}

// unfenced says why a node that is not Ready has no open fence, as far as that is known.
func (s *Seen) unfenced(a *Answer, f *api.NodeFence) {
	a.What = fmt.Sprintf("Node %s is not being fenced, and its Ready is %s", a.Node, readyWord(s.Node(a.Node)))
	a.Do, a.Run = "wait: its policy may look for something else, or for longer", "kubectl fence plan "+a.Node
	if r := RemedyFor(api.LeasePictureOld); s.Blind() {
		a.Do, a.Run = r.Do, r.Run
	}
	if f == nil || f.Status.FenceNumber == 0 {
		return
	}
	a.What += "; its last fence ended: " + ended(f)
	if f.Status.Outcome == api.Aborted && !f.EndedByWithdrawal() {
		a.Do, a.Run = askAnother.Do, strings.ReplaceAll(askAnother.Run, "NODE", a.Node)
	}
}

// said is a reason with what nodefence says of it.
func said(r api.Reason, message string) string {
	if message == "" {
		return string(r)
	}
	return string(r) + ": " + message
}

func ended(f *api.NodeFence) string {
	return fmt.Sprintf("fence %d, %s", f.Status.FenceNumber, said(f.Status.Outcome, f.Status.Message))
}

func (s *Seen) since(t *api.Time) string {
	if t == nil {
		return "some time"
	}
	return duration.HumanDuration(max(0, s.Now.Sub(t.Time)))
}

// rule names the policy that decides, and its numbers.
func (s *Seen) rule(p *api.FencePolicy, r *api.ResolvedPolicy) string {
	if p == nil || r == nil {
		return fmt.Sprintf("None of %d FencePolicies selects it", len(s.Policies))
	}
	words := fmt.Sprintf("Policy %s decides (generation %d, mode %s, action %s, precedence %s)", p.Name, p.Generation, r.Settings.Mode, r.Settings.Action, precedence(p))
	if f := s.figures(p); f != nil {
		words += ": " + figureWords(f)
	} else {
		words += ": how many fences may begin is not known"
	}
	for _, l := range r.Limits {
		words += "; " + limitWords(l)
	}
	return words
}

func precedence(p *api.FencePolicy) string {
	if p.Spec.Precedence == nil {
		return "100"
	}
	return fmt.Sprint(*p.Spec.Precedence)
}

// limitWords are the limits of one policy, or of ConfigMap fence-policy-fence-limit.
func limitWords(l api.ScopedLimits) string {
	if l.SkipFrom > 0 {
		return fmt.Sprintf("%s allows none from %d%% unhealthy nodes on", l.Policy, l.SkipFrom)
	}
	words := fmt.Sprintf("%s allows maxUnhealthy %s and maxConcurrent %d", l.Policy, l.MaxUnhealthy.String(), max(1, l.MaxConcurrent))
	if l.MaxRate != nil {
		words += fmt.Sprintf(", %d within %s", l.MaxRate.Count, l.MaxRate.Period.Duration)
	}
	if d := l.PerDomain; d != nil {
		words += fmt.Sprintf(", by %s maxUnhealthy %s and maxConcurrent %d", d.TopologyKey, d.MaxUnhealthy.String(), max(1, d.MaxConcurrent))
	}
	return words
}

// next says when nodefence looks at the node again.
func (s *Seen) next(f *api.NodeFence) string {
	every := fmt.Sprintf("%s after that", facts.Resync)
	switch {
	case s.Blind():
		return "nodefence may not look at the node: it " + s.lookedLast() + ", so its source may not run"
	case f == nil || !f.Open():
		return "nodefence looks at the node at each change of it, and at the latest " + every
	case f.Status.NextLook == nil:
		return "nodefence looks at it now"
	case !f.Status.NextLook.After(s.Now):
		return "nodefence should have looked at it at " + stamp(f.Status.NextLook.Time) + ", and does so " + every
	}
	return fmt.Sprintf("nodefence looks at it at %s (in %s), or earlier if something changes", stamp(f.Status.NextLook.Time), f.Status.NextLook.Sub(s.Now).Round(time.Second))
}

// Words are the answer in three sentences, and then what can be done.
func (a Answer) Words() string {
	says := []string{a.What + ".", a.Rule + ".", capital(a.Next) + ".", "", "What you can do: " + a.Do + "."}
	if a.Run != "" {
		says = append(says, "    "+a.Run)
	}
	return Lines(says)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
