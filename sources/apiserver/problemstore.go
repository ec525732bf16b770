package apiserver

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/nodeproblem"
)

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

// again returns the reports to send again: they are recent, their node exists, and a policy
// asks for a fence because of them. It forgets the reports that are too old.
func (p *problemStore) again(here map[string]string, now time.Time) map[problemOf]lastReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[problemOf]lastReport{}
	for node, reports := range p.recall {
		uid, ok := here[node]
		for of, r := range reports {
			switch {
			case now.Sub(r.told) > problemValidity:
				delete(reports, of)
			case ok && uid == r.NodeUID && p.named.asks(of):
				all[of] = r
			}
		}
		if len(reports) == 0 {
			delete(p.recall, node)
		}
	}
	return all
}

// policy notes a policy's rules. It ends the watches that no policy names any more, and
// returns their names, and the reasons for new watches, each with its context.
func (p *problemStore) policy(ctx context.Context, name string, rules []nodeproblem.Rule) (begin map[string]context.Context, ended []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.named[name] = rules
	wanted := p.named.aboutPods()
	for reason, end := range p.reports {
		if !wanted[reason] {
			end()
			delete(p.reports, reason)
			ended = append(ended, podProblems+reason)
		}
	}
	begin = map[string]context.Context{}
	for reason := range wanted {
		if p.reports[reason] == nil {
			begin[reason], p.reports[reason] = context.WithCancel(ctx)
		}
	}
	return begin, ended
}

// dropped reports whether a watch is for a reason that no policy names any more.
func (p *problemStore) dropped(watch string) bool {
	reason, ok := strings.CutPrefix(watch, podProblems)
	if !ok {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reports[reason] == nil
}
