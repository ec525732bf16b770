package nodeproblem

import (
	"slices"
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Rule is a rule of a NodeProblemPolicy, with its defaults filled in.
type Rule struct {
	// Policy and Name identify the rule.
	Policy, Name string
	// About, Reason, Component and Namespaces belong to a kubernetesEvent; About is empty
	// in a rule about CloudEvents.
	About             api.ProblemAbout
	Reason, Component string
	Namespaces        []string
	// Source and Type belong to a cloudEvent.
	Source, Type string
	Count, Pods  int32
	Within       time.Duration
	Action       api.ProblemAction
	Evict        Eviction
	// Note says what of the rule acts otherwise than it is written; empty if nothing does.
	Note string
	// Wrong says why this is no valid rule, in the API server's words; empty if it is
	// valid.
	Wrong string
}

// Eviction says which Pods are moved, and how.
type Eviction struct {
	What    api.EvictWhat
	MaxPods int32
	// DeleteAfter is zero if a disruption budget always decides.
	DeleteAfter time.Duration
}

// String names the rule as records do.
func (r Rule) String() string { return "rule " + r.Name + " of NodeProblemPolicy " + r.Policy }

// Is reports whether a Kubernetes Event matches this rule.
func (r Rule) Is(about api.ProblemAbout, reason, component string) bool {
	return r.About != "" && r.About == about && r.Reason == reason && (r.Component == "" || r.Component == component)
}

// Believes reports whether a CloudEvent without a token matches this rule.
func (r Rule) Believes(source, typ string) bool {
	return r.About == "" && r.Source == source && r.Type == typ
}

// RulesOf returns the valid rules of one policy, as far as it can be read.
func RulesOf(p *api.NodeProblemPolicy) []Rule {
	return chosen(Written(p), func(r Rule) bool { return r.Wrong == "" })
}

// Written returns all rules in a policy, invalid ones included.
func Written(p *api.NodeProblemPolicy) (all []Rule) {
	for i := range p.Spec.Rules {
		all = append(all, ruleOf(p.Name, &p.Spec.Rules[i]))
	}
	return all
}

// fenceAsks is what becomes of a stored rule on Kubernetes Events with action Fence.
const fenceAsks = "its action Fence acts as Ask, as a Kubernetes Event cuts nothing by itself: a person must approve the fence; set action Ask"

// ruleOf fills in the API server's defaults.
func ruleOf(policy string, spec *api.ProblemRule) Rule {
	r := Rule{
		Policy: policy, Name: spec.Name, Action: or(spec.Action, api.ProblemAlert),
		Count: atLeastOne(spec.Threshold.Count, 1), Pods: atLeastOne(spec.Threshold.Pods, 1), Within: spec.Threshold.Within.Or(10 * time.Minute).Duration,
		Evict: Eviction{What: api.EvictPod, MaxPods: 3},
	}
	if e := spec.Evict; e != nil {
		r.Evict = Eviction{What: or(e.What, api.EvictPod), MaxPods: atLeastOne(e.MaxPods, 3), DeleteAfter: e.DeleteAfter.Get()}
	}
	switch k, c := spec.KubernetesEvent, spec.CloudEvent; {
	case (k == nil) == (c == nil):
		r.Wrong = "set one of kubernetesEvent and cloudEvent"
	case k != nil:
		r.About, r.Reason, r.Component, r.Namespaces = or(k.About, api.AboutNode), k.Reason, k.Component, k.NamespaceNames
		if r.Action == api.ProblemFence { // stored by an API server without the rule that refuses it
			r.Action, r.Note = api.ProblemAsk, fenceAsks
		}
		if r.About == api.AboutNode && ordinary(r.Component) {
			r.Wrong = "kubernetesEvent.component is " + r.Component + ", whose Events about Nodes count for nothing: name a monitor's, or name the condition of the Node in a FencePolicy (unhealthyConditions)"
		}
	default:
		r.Source, r.Type = c.Source, or(c.Type, events.RequestFence)
		switch {
		case r.Action == api.ProblemAsk:
			r.Wrong = "action Ask is for kubernetesEvent: set action Fence or Alert for a cloudEvent"
		case !c.BrokerIsClosed:
			r.Wrong = "cloudEvent.brokerIsClosed is not true: whoever can post to the broker could write source " + c.Source
		}
	}
	return r
}

// For returns the rules for a node with these labels, from every policy that selects it. A policy that is
// not understood has none: a field of a newer version may narrow a rule, and without it the rule would ask
// for a fence, or move Pods, where nobody wants that.
func For(policies []api.NodeProblemPolicy, nodeLabels map[string]string) (all []Rule) {
	for i := range policies {
		if p := &policies[i]; !p.NotUnderstood.Any() && Selects(p, nodeLabels) {
			all = append(all, RulesOf(p)...)
		}
	}
	return all
}

// NotUnderstood says which policy may be about a node with these labels and is not understood, and what of it;
// empty if there is none.
func NotUnderstood(policies []api.NodeProblemPolicy, nodeLabels map[string]string) string {
	for i := range policies {
		p := &policies[i]
		if p.NotUnderstood.Any() && (p.NotUnderstood.Everywhere || Selects(p, nodeLabels)) {
			return string(api.PolicyNotUnderstood) + ": " + p.NotUnderstood.Words("NodeProblemPolicy "+p.Name)
		}
	}
	return ""
}

// Selects reports whether a policy selects a node with these labels. A selector that can't
// be read selects no node here: a rule asks for a fence and is no brake.
func Selects(p *api.NodeProblemPolicy, nodeLabels map[string]string) bool {
	return policy.Chooses(p.Spec.Selector, nodeLabels)
}

// Named returns the rules that a Kubernetes Event matches.
func Named(rules []Rule, about api.ProblemAbout, reason, component string) []Rule {
	return chosen(rules, func(r Rule) bool { return r.Is(about, reason, component) })
}

// Believing returns the rules with this action that a CloudEvent matches.
func Believing(rules []Rule, action api.ProblemAction, source, typ string) []Rule {
	return chosen(rules, func(r Rule) bool { return r.Action == action && r.Believes(source, typ) })
}

func chosen(rules []Rule, is func(Rule) bool) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !is(r) })
}

func or[T ~string](given *T, unless T) T {
	if given == nil || *given == "" {
		return unless
	}
	return *given
}

func atLeastOne(given *int32, unless int32) int32 {
	if given == nil || *given < 1 {
		return unless
	}
	return *given
}
