package apiserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
	"github.com/nodefence/nodefence/sources/apiserver/slim"
)

// problemValidity is the age up to which a report is sent. An older report, from before the
// source watched or from while the broker was away, is history.
const problemValidity = 10 * time.Minute

// problemWatch watches the Kubernetes Events about Nodes. They are in namespace default. An
// Event in another namespace may come from anybody who can write there, and need not be
// true. Type Normal means that there is no problem.
func (s *Source) problemWatch() watched {
	return watched{
		gv: corev1.SchemeGroupVersion, path: "/api", resource: problems, name: problems, ns: metav1.NamespaceDefault, of: &corev1.Event{},
		slim: slim.Report, handler: s.problemHandler(),
		selector: fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.kind", "Node"),
			fields.OneTermNotEqualSelector("type", corev1.EventTypeNormal)),
	}
}

// watchProblems begins when the nodes are known. Nothing waits for it: without it only
// reports are missing.
func (s *Source) watchProblems(ctx context.Context) error {
	scheme, err := schemeOfAll()
	if err != nil {
		return err
	}
	if _, err = s.watch(ctx, scheme, s.problemWatch()); err != nil {
		return err
	}
	if _, err = s.watch(ctx, scheme, s.problemPolicyWatch(ctx, scheme)); err != nil {
		return err
	}
	synced, err := s.watch(ctx, scheme, s.policyWatch())
	if err != nil {
		return err
	}
	if err := s.watchBudgets(ctx, scheme); err != nil {
		return err
	}
	s.wg.Go(func() { s.collects(ctx, synced) })
	s.wg.Go(func() { s.exclusions(ctx, synced) })
	s.wg.Go(func() { s.hostHAs(ctx, synced) })
	return nil
}

func (s *Source) problemHandler() cache.ResourceEventHandler {
	return s.eachReport(func(ev *corev1.Event, more int64, told time.Time) {
		if r, ok := reportOf(ev); ok {
			s.problem(ev, r, api.AboutNode, more, told)
		}
	})
}

// eachReport calls heard each time that an Event's count grows, with the increase, and when that was
// told: when the API server created the Event, or when the source sees its count grow. No time in the
// Event that its sender wrote counts (S18). For an Event that existed before the watch, the times of
// earlier reports are unknown, so it counts as one.
func (s *Source) eachReport(heard func(ev *corev1.Event, more int64, told time.Time)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			ev, told := obj.(*corev1.Event), s.now()
			if created := nodeproblem.ToldAt(ev); created.Before(told) {
				told = created
			}
			heard(ev, 1, told)
		},
		UpdateFunc: func(old, obj any) {
			if was, is := old.(*corev1.Event), obj.(*corev1.Event); nodeproblem.Times(was) != nodeproblem.Times(is) || was.UID != is.UID {
				heard(is, max(1, nodeproblem.Times(is)-nodeproblem.Times(was)), s.now())
			}
		},
	}
}

// problem sends a report of a node that exists.
func (s *Source) problem(ev *corev1.Event, r events.ProblemReport, about api.ProblemAbout, more int64, told time.Time) {
	now := s.now()
	v, ok := s.nodes.get(r.Node)
	if !ok || now.Sub(told) > problemValidity {
		return
	}
	r.NodeUID = v.uid
	is := s.problems.heard(ev, r, about, more, v, told)
	if _, here := s.nodes.get(r.Node); !here {
		s.problems.left(r.Node) // the node was deleted before the report was counted
	}
	if !is {
		return
	}
	s.outbox.Put(outbox.Letter{
		Event: s.o.Source.Problem(r, now), About: "problem/" + r.Report, Among: "problems/" + r.Node,
		Stale: func() bool { return s.now().Sub(told) > problemValidity },
	})
}

// problemStore has what is known of reported problems.
type problemStore struct {
	log     *slog.Logger
	counted *prometheus.CounterVec

	mu sync.Mutex
	// named has the rules of each NodeProblemPolicy; reports has, by reason, the function
	// that ends the watch on reports about Pods.
	named   problemRules
	reports map[string]context.CancelFunc
	recall  recall
	// elders has the UIDs of earlier Node objects that reports still name, by node.
	elders map[string]types.UID
}

func newProblemStore(log *slog.Logger) *problemStore {
	p := &problemStore{log: log, counted: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nodefence_source_problem_reports_total", Help: "Reports of problems that rules name, by node, reason and what they are about.",
	}, []string{"node", "reason", "about"})}
	p.begin()
	return p
}

// begin resets the store before each lead.
func (p *problemStore) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named, p.reports = problemRules{}, map[string]context.CancelFunc{}
	p.recall, p.elders = recall{}, map[string]types.UID{}
}

// heard counts a report that a policy names, and keeps the report if it is about this Node
// object. It returns whether to send the report.
func (p *problemStore) heard(ev *corev1.Event, r events.ProblemReport, about api.ProblemAbout, more int64, v nodeView, told time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := string(about)
	if about == api.AboutNode && (!isOf(ev.InvolvedObject, v) || nodeproblem.ToldAt(ev).Before(v.created)) {
		of = earlierNode
	}
	if p.named.names(about, r.Reason, r.Component) {
		p.counted.WithLabelValues(r.Node, r.Reason, of).Add(float64(more))
	}
	if of == earlierNode {
		p.outdatedLocked(ev, r, v)
		return false
	}
	p.recall.keep(about, r, told, p.named.asks)
	return true
}

// earlierNode is the metric's label for a report that names an earlier Node object of the
// same name, or is from before this one was created.
const earlierNode = "EarlierNode"

// outdatedLocked warns once for each node whose reports still name an earlier Node object:
// node-problem-detector keeps the first UID that it learnt until it is restarted, and its
// reports count for nothing until then.
func (p *problemStore) outdatedLocked(ev *corev1.Event, r events.ProblemReport, v nodeView) {
	uid := ev.InvolvedObject.UID
	if p.elders[r.Node] == uid || !nodeproblem.ToldAt(ev).After(v.created) {
		return
	}
	p.elders[r.Node] = uid
	p.log.Warn("problem reports name an earlier Node object of this name and are ignored: restart the monitor on the node",
		"node", r.Node, "component", r.Component, "reason", r.Reason, "names", uid, "node is", v.uid)
}

// left ends the counters of a node that is gone.
func (p *problemStore) left(node string) {
	p.counted.DeletePartialMatch(prometheus.Labels{"node": node})
}

// forget drops the kept reports of a node.
func (p *problemStore) forget(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recall.forget(node)
}
