package apiserver

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

const (
	policies        = "fencepolicies"
	problemPolicies = "nodeproblempolicies"
	// podProblems begins the names of the watches on Kubernetes Events about Pods.
	podProblems = "events about Pods: "
)

// policyWatch is for the nodes that policies choose, expect and exclude. One that is not
// understood takes back nothing of what it said before: what it says of them now may be
// what can't be read.
func (s *Source) policyWatch() watched {
	seen := func(obj any) {
		p := obj.(*api.FencePolicy)
		s.manages(p.Name, p)
		if !p.NotUnderstood.Any() {
			s.expects(p.Name, expectedBy(p))
			s.excludes(p.Name, p.Spec.Exclude)
			return
		}
		s.expectsToo(p.Name, expectedBy(p))
		if p.Spec.Exclude != nil {
			s.excludes(p.Name, p.Spec.Exclude)
		}
	}
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: policies, name: policies, selector: fields.Everything(), of: &api.FencePolicy{},
		slim: slimPolicy, handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { s.changed(); seen(obj) },
			UpdateFunc: func(old, obj any) {
				if old.(*api.FencePolicy).Generation != obj.(*api.FencePolicy).Generation {
					s.changed()
				}
				seen(obj)
			},
			DeleteFunc: func(obj any) {
				s.changed()
				s.expects(nameOf(obj), nil)
				s.excludes(nameOf(obj), nil)
				s.manages(nameOf(obj), nil)
			},
		},
	}
}

// problemPolicyWatch is for the problems that rules are about. What a rule says of a
// problem is for the gate: here it only bounds what is watched, counted and told again.
func (s *Source) problemPolicyWatch(ctx context.Context, scheme *runtime.Scheme) watched {
	seen := func(obj any) {
		p := obj.(*api.NodeProblemPolicy)
		s.policy(ctx, scheme, p.Name, nodeproblem.RulesOf(p))
	}
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: problemPolicies, name: problemPolicies, selector: fields.Everything(), of: &api.NodeProblemPolicy{},
		slim: slimProblemPolicy, handler: cache.ResourceEventHandlerFuncs{
			AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
			DeleteFunc: func(obj any) { s.policy(ctx, scheme, nameOf(obj), nil) },
		},
	}
}

// policy begins a watch for each reason that is new, and ends those that no policy
// names any more. There is one for each reason, because all Events about the Pods
// of a cluster are too many.
func (s *Source) policy(ctx context.Context, scheme *runtime.Scheme, name string, rules []nodeproblem.Rule) {
	s.mu.Lock()
	s.named[name] = rules
	wanted := map[string]bool{}
	for _, all := range s.named {
		for _, p := range all {
			if p.About == api.AboutPod {
				wanted[p.Reason] = true
			}
		}
	}
	for reason, end := range s.reports {
		if !wanted[reason] {
			end()
			delete(s.reports, reason)
			delete(s.watched, podProblems+reason)
		}
	}
	begin := map[string]context.Context{}
	for reason := range wanted {
		if s.reports[reason] == nil {
			begin[reason], s.reports[reason] = context.WithCancel(ctx)
		}
	}
	s.mu.Unlock()
	for reason, its := range begin {
		if _, err := s.watch(its, scheme, s.podProblemWatch(its, reason)); err != nil {
			s.o.Logger.Error("not watched: Events about Pods", "reason", reason, "error", err.Error())
		}
	}
}

// dropped: it is the watch for a reason that no policy names any more; called with
// the lock held.
func (s *Source) dropped(watch string) bool {
	reason, ok := strings.CutPrefix(watch, podProblems)
	return ok && s.reports[reason] == nil
}

// names tells whether a rule is about a problem; called with the lock held.
func (s *Source) names(about api.ProblemAbout, reason, component string) bool {
	for _, all := range s.named {
		for _, p := range all {
			if p.Is(about, reason, component) {
				return true
			}
		}
	}
	return false
}

func (s *Source) podProblemWatch(ctx context.Context, reason string) watched {
	return watched{
		gv: corev1.SchemeGroupVersion, path: "/api", resource: problems, name: podProblems + reason, of: &corev1.Event{}, slim: slimPodReport,
		handler: eachReport(func(ev *corev1.Event, more int64) {
			r, said := wordsOf(ev)
			if !said || ev.InvolvedObject.Kind != "Pod" || ev.InvolvedObject.Namespace != ev.Namespace {
				return
			}
			r.Pod = ev.Namespace + "/" + ev.InvolvedObject.Name
			if r.Node = s.nodeOf(ctx, ev); r.Node != "" {
				s.problem(ev, r, api.AboutPod, more)
			}
		}),
		selector: fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.kind", "Pod"),
			fields.OneTermEqualSelector("reason", reason),
			fields.OneTermNotEqualSelector("type", corev1.EventTypeNormal)),
	}
}

// nodeOf is the node that a report of a Pod counts for, as far as it takes to wake
// the gate, which looks where the Pod is bound whatever is said here. A kubelet
// says who it is; for a controller's word the Pod is read.
func (s *Source) nodeOf(ctx context.Context, ev *corev1.Event) string {
	for _, host := range []string{ev.Source.Host, ev.ReportingInstance} {
		s.mu.Lock()
		_, known := s.nodes[host]
		s.mu.Unlock()
		if known {
			return host
		}
	}
	p, err := s.o.Client.Pod(ctx, ev.Namespace, ev.InvolvedObject.Name)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.o.Logger.Warn("a report is not sent, as its Pod can't be read; the next one is", "pod", ev.Namespace+"/"+ev.InvolvedObject.Name, "error", err.Error())
		}
	case p != nil && p.UID == ev.InvolvedObject.UID:
		return p.Spec.NodeName
	}
	return ""
}
