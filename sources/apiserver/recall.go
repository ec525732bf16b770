package apiserver

import (
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// recall keeps the newest report of each problem for problemValidity, because a problem
// that has passed is not reported again, and the event of its report may have been lost
// (S19). It also keeps problems that no policy names, because the source may see the policy
// after the report.
//
// Whoever may write Events may invent any number of problems of a node. So each node has room for
// mostRecalled problems. A problem for which a policy asks for a fence gives way last, and of the others the one
// that was told first: a flood about one node displaces nothing of another node, and nothing that asks
// for a fence while its own kind does not fill the room.
type recall map[string]map[problemOf]lastReport

// mostRecalled is how many problems of one node are kept.
const mostRecalled = 128

// problemOf is the finest unit in which the gate counts reports.
type problemOf struct {
	node              string
	about             api.ProblemAbout
	reason, component string
}

type lastReport struct {
	events.ProblemReport
	// told is when the API server created its Event, or the source saw its count grow: no time that its
	// author wrote.
	told time.Time
}

// keep keeps a report, if it is the newest of its problem.
func (r recall) keep(about api.ProblemAbout, p events.ProblemReport, told time.Time, asks func(problemOf) bool) {
	of := problemOf{p.Node, about, p.Reason, p.Component}
	all := r[p.Node]
	if was, ok := all[of]; ok && was.NodeUID == p.NodeUID && told.Before(was.told) {
		return
	}
	if all == nil {
		all = map[problemOf]lastReport{}
		r[p.Node] = all
	}
	if all[of] = (lastReport{p, told}); len(all) > mostRecalled {
		delete(all, firstTold(all, asks))
	}
}

// firstTold is the problem that gives way: one for which no policy asks for a fence, if there is any, and of
// those the one that was told first.
func firstTold(all map[problemOf]lastReport, asks func(problemOf) bool) (first problemOf) {
	var at time.Time
	found, kept := false, false
	for of, r := range all {
		holds := asks(of)
		if !found || kept && !holds || kept == holds && r.told.Before(at) {
			first, at, kept, found = of, r.told, holds, true
		}
	}
	return first
}

// forget drops the reports of a node.
func (r recall) forget(node string) { delete(r, node) }

// problemValidity is the age up to which a report is sent. An older report, from before the
// source watched or from while the broker was away, is history.
const problemValidity = 10 * time.Minute
