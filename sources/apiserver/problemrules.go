package apiserver

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

// problemRules has the rules of each NodeProblemPolicy.
type problemRules map[string][]nodeproblem.Rule

// aboutPods returns the reasons of Pod problems that have rules.
func (r problemRules) aboutPods() map[string]bool {
	reasons := map[string]bool{}
	for _, all := range r {
		for _, p := range all {
			if p.About == api.AboutPod {
				reasons[p.Reason] = true
			}
		}
	}
	return reasons
}

// names reports whether any rule is about a problem.
func (r problemRules) names(about api.ProblemAbout, reason, component string) bool {
	for _, all := range r {
		for _, p := range all {
			if p.Is(about, reason, component) {
				return true
			}
		}
	}
	return false
}

// asks reports whether any policy asks for a fence because of a problem. Whether the
// policy applies to the node is the gate's decision.
func (r problemRules) asks(of problemOf) bool {
	for _, all := range r {
		for _, p := range all {
			if p.Action == api.ProblemAsk && p.Is(of.about, of.reason, of.component) {
				return true
			}
		}
	}
	return false
}
