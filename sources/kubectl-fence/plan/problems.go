package plan

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// Problem is a rule of a NodeProblemPolicy about the node.
type Problem struct {
	Policy string `json:"policy"`
	Rule   string `json:"rule,omitempty"`
	// Reports says what the rule counts; Then says what follows. Both are words for people.
	Reports string            `json:"reports,omitempty"`
	Action  api.ProblemAction `json:"action,omitempty"`
	Then    string            `json:"then,omitempty"`
	// Wrong says why the rule, or its whole policy, has no effect.
	Wrong string `json:"wrong,omitempty"`
}

// reported returns the rules of the policies that select the node, and the faults of
// policies that might select it. under is the FencePolicy that would decide, if there is
// one.
func (r *Report) reported(all []api.NodeProblemPolicy, n *corev1.Node, under string) {
	for i := range all {
		p := &all[i]
		if nodeproblem.NotUnderstood(all[i:i+1], n.Labels) != "" {
			r.Problems = append(r.Problems, Problem{Policy: p.Name, Wrong: p.NotUnderstood.Words("it")})
			continue
		}
		if _, err := metav1.LabelSelectorAsSelector(p.Spec.Selector.Kubernetes()); err != nil {
			r.Problems = append(r.Problems, Problem{Policy: p.Name, Wrong: fmt.Sprintf("spec.selector: %s; it selects no node until that is corrected", err)})
			continue
		}
		if !nodeproblem.Selects(p, n.Labels) {
			continue
		}
		for _, rule := range nodeproblem.Written(p) {
			x := Problem{Policy: p.Name, Rule: rule.Name, Action: rule.Action, Wrong: rule.Wrong}
			if x.Wrong == "" {
				x.Reports, x.Then = counts(rule), follows(rule, under)
			}
			r.Problems = append(r.Problems, x)
		}
	}
}

// readProblems reads the NodeProblemPolicies. If the user may not read them, the report
// says so.
func (w *world) readProblems(ctx context.Context) (err error) {
	w.problems, err = w.Client.NodeProblemPolicies(ctx)
	if apierrors.IsForbidden(err) {
		w.unread, err = "the NodeProblemPolicies were not looked at: "+err.Error(), nil
	}
	return err
}

// counts says what a rule counts.
func counts(r nodeproblem.Rule) string {
	within := " within " + r.Within.String()
	if r.About == "" {
		words := fmt.Sprintf("event %s from %s", r.Type, r.Source)
		if r.Count > 1 {
			words += fmt.Sprintf(", %d%s", r.Count, within)
		}
		return words
	}
	words := r.Reason + " of the Node"
	if r.About == api.AboutPod {
		words = r.Reason + " of a Pod"
		if r.Pods > 1 {
			words = fmt.Sprintf("%s of %d Pods", r.Reason, r.Pods)
		}
		if len(r.Namespaces) > 0 {
			words += " in " + strings.Join(r.Namespaces, ", ")
		}
	}
	if r.Component != "" {
		words += " by " + r.Component
	}
	return fmt.Sprintf("%s, %d%s", words, r.Count, within)
}

// follows says what a rule leads to under that FencePolicy.
func follows(r nodeproblem.Rule, under string) string {
	told, asks := "it is told, as an Event on the Node", "a fence opens under policy "+under+", and waits for a person's approval"
	switch {
	case r.Action == api.ProblemAlert:
		return told
	case under == "":
		return told + ", and no more: no FencePolicy selects this node"
	case r.Action == api.ProblemAsk && r.Note != "":
		return asks + "; " + r.Note
	case r.Action == api.ProblemAsk:
		return asks
	case r.Action == api.ProblemFence:
		return "a fence is asked for, under policy " + under
	}
	words := fmt.Sprintf("at most %d Pods are evicted", r.Evict.MaxPods)
	if r.Evict.What == api.EvictVolume {
		words += ", those with a claim of theirs too"
	}
	if r.Evict.DeleteAfter > 0 {
		words += fmt.Sprintf(", and deleted after %s", r.Evict.DeleteAfter)
	}
	return words
}

func (p Problem) words() string {
	of := "NodeProblemPolicy " + p.Policy
	if p.Rule != "" {
		of = "rule " + p.Rule + " of " + of
	}
	if p.Wrong != "" {
		return of + ": no effect: " + p.Wrong
	}
	return fmt.Sprintf("%s: %s: %s: %s", of, p.Reports, p.Action, p.Then)
}
