package apiserver

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// problemPolicyWatch learns which problems have rules. What a rule decides about a problem
// is the gate's work: here rules only bound what is watched, counted and sent again.
func (s *Source) problemPolicyWatch(ctx context.Context, scheme *runtime.Scheme) watched {
	seen := func(obj any) {
		p := obj.(*api.NodeProblemPolicy)
		rules := nodeproblem.RulesOf(p)
		for _, r := range rules {
			if r.Note != "" {
				s.o.Logger.Warn("a rule acts otherwise than it is written", "policy", p.Name, "rule", r.Name, "why", r.Note)
			}
		}
		s.policy(ctx, scheme, p.Name, rules)
	}
	return watched{
		gv: api.GroupVersion, path: "/apis", resource: problemPolicies, name: problemPolicies, selector: fields.Everything(), of: &api.NodeProblemPolicy{},
		slim: slim.ProblemPolicy, handler: cache.ResourceEventHandlerFuncs{
			AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
			DeleteFunc: func(obj any) { s.policy(ctx, scheme, nameOf(obj), nil) },
		},
	}
}

// policy begins a watch for each new reason, and ends the watches that no policy names any
// more. There is one watch for each reason, because a cluster has too many Events about
// Pods to watch all of them.
func (s *Source) policy(ctx context.Context, scheme *runtime.Scheme, name string, rules []nodeproblem.Rule) {
	begin, ended := s.problems.policy(ctx, name, rules)
	s.standing.drop(ended)
	for reason, its := range begin {
		if _, err := s.watch(its, scheme, s.podProblemWatch(its, reason)); err != nil {
			s.o.Logger.Error("cannot watch Events about Pods; problems with this reason are not reported", "reason", reason, "error", err.Error())
		}
	}
}

func (s *Source) podProblemWatch(ctx context.Context, reason string) watched {
	return watched{
		gv: corev1.SchemeGroupVersion, path: "/api", resource: problems, name: podProblems + reason, of: &corev1.Event{}, slim: slim.PodReport,
		handler: s.eachReport(func(ev *corev1.Event, more int64, told time.Time) {
			r, said := wordsOf(ev)
			if !said || ev.InvolvedObject.Kind != "Pod" || ev.InvolvedObject.Namespace != ev.Namespace {
				return
			}
			r.Pod = ev.Namespace + "/" + ev.InvolvedObject.Name
			if r.Node = s.nodeOf(ctx, ev); r.Node != "" {
				s.problem(ev, r, api.AboutPod, more, told)
			}
		}),
		selector: fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.kind", "Pod"),
			fields.OneTermEqualSelector("reason", reason),
			fields.OneTermNotEqualSelector("type", corev1.EventTypeNormal)),
	}
}

// nodeOf returns the node that a report about a Pod counts for. It is only used to wake the
// gate, which reads for itself on which node the Pod is. A kubelet's report names its own
// node; for a controller's report the Pod is read.
func (s *Source) nodeOf(ctx context.Context, ev *corev1.Event) string {
	for _, host := range []string{ev.Source.Host, ev.ReportingInstance} {
		if _, known := s.nodes.get(host); known {
			return host
		}
	}
	p, err := s.o.Client.Pod(ctx, ev.Namespace, ev.InvolvedObject.Name)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.o.Logger.Warn("cannot read the Pod of a report; this report is not sent", "pod", ev.Namespace+"/"+ev.InvolvedObject.Name, "error", err.Error())
		}
	case p != nil && p.UID == ev.InvolvedObject.UID:
		return p.Spec.NodeName
	}
	return ""
}
