package apiserver

import (
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// recall keeps the newest report of each problem for problemValidity, because a problem
// that has passed is not reported again, and the event of its report may have been lost
// (S19). It also keeps problems that no policy names, because the source may see the policy
// after the report.
type recall map[problemOf]lastReport

// problemOf is the finest unit in which the gate counts reports.
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

// again returns the reports to send again: they are recent, their node exists, and a policy
// asks for a fence because of them. It forgets the reports that are too old.
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

// tellAgain sends again the reports for which a policy may fence, of nodes without an open
// fence. The gate counts the reports itself in the API server, and only those after the
// node's last fence. The caller read the open fences before: when a record is deleted, its
// reports are forgotten first, so that none of them is sent again.
func (s *Source) tellAgain(here map[string]string, open map[string]*api.NodeFence, slot, now time.Time) {
	for of, r := range s.problems.again(here, now) {
		if open[of.node] != nil {
			continue
		}
		s.outbox.Put(outbox.Letter{
			Event: s.o.Source.ProblemAgain(r.ProblemReport, slot, now),
			About: "resync/" + of.node + "/problem/" + string(of.about) + "/" + of.component + "/" + of.reason,
			Stale: func() bool { return s.now().Sub(r.told) > problemValidity },
		})
	}
}
