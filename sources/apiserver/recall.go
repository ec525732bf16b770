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

// tellAgain sends what a policy may fence for, of nodes that have no open fence:
// whoever gets it counts anew what stands in the API server, and only what came
// after the node's last fence. Called with the lock held.
func (s *Source) tellAgain(slot, now time.Time) {
	for of, r := range s.recall {
		v, here := s.nodes[of.node]
		if !here || v.uid != r.NodeUID || now.Sub(r.told) > problemValidity {
			delete(s.recall, of)
			continue
		}
		if s.due.hasOpen(of.node) || !s.fences(of) {
			continue
		}
		s.outbox.put(letter{
			event: s.o.Source.ProblemAgain(r.ProblemReport, slot, now),
			about: "resync/" + of.node + "/problem/" + string(of.about) + "/" + of.component + "/" + of.reason,
			stale: func() bool { return s.now().Sub(r.told) > problemValidity },
		})
	}
}

// fences tells whether a policy has a fence asked for on account of a problem; called
// with the lock held. Whether it decides for the node is for the gate.
func (s *Source) fences(of problemOf) bool {
	for _, all := range s.named {
		for _, p := range all {
			if p.Action == api.ProblemFence && p.Is(of.about, of.reason, of.component) {
				return true
			}
		}
	}
	return false
}
