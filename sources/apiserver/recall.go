package apiserver

import (
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// recall keeps the newest report of each problem while it is news: nobody reports
// again what has passed, and its event may have been lost (S19). It keeps what no
// policy names too, because a policy may be seen after the report.
type recall map[problemOf]lastReport

// problemOf is what the gate counts together, at the least.
type problemOf struct {
	node              string
	about             api.ProblemAbout
	reason, component string
}

type lastReport struct {
	events.ProblemReport
	told time.Time
}

func (r recall) keep(about api.ProblemAbout, p events.ProblemReport, told time.Time) {
	of := problemOf{p.Node, about, p.Reason, p.Component}
	if was, ok := r[of]; !ok || was.NodeUID != p.NodeUID || !told.Before(was.told) {
		r[of] = lastReport{p, told}
	}
}

// forget drops the reports of a node.
func (r recall) forget(node string) {
	for of := range r {
		if of.node == node {
			delete(r, of)
		}
	}
}

// again are the reports to tell again: those that are still news, of nodes that are
// there, that a policy has a fence asked for on account of. What is no news is forgotten.
func (p *problemStore) again(here map[string]string, now time.Time) map[problemOf]lastReport {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[problemOf]lastReport{}
	for of, r := range p.recall {
		uid, ok := here[of.node]
		switch {
		case now.Sub(r.told) > problemValidity:
			delete(p.recall, of)
		case ok && uid == r.NodeUID && p.named.fences(of):
			all[of] = r
		}
	}
	return all
}

// tellAgain sends what a policy may fence for, of nodes that have no open fence:
// whoever gets it counts anew what stands in the API server, and only what came
// after the node's last fence. Who is fenced was looked up before: of a record that is
// deleted the reports are forgotten first, so that none is told for it again.
func (s *Source) tellAgain(here map[string]string, open map[string]*api.NodeFence, slot, now time.Time) {
	for of, r := range s.problems.again(here, now) {
		if open[of.node] != nil {
			continue
		}
		s.outbox.put(letter{
			event: s.o.Source.ProblemAgain(r.ProblemReport, slot, now),
			about: "resync/" + of.node + "/problem/" + string(of.about) + "/" + of.component + "/" + of.reason,
			stale: func() bool { return s.now().Sub(r.told) > problemValidity },
		})
	}
}
