package apiserver

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// dueList keeps when each open NodeFence wants to be looked at.
type dueList struct {
	resync time.Duration
	byNode map[string]*due
}

type due struct {
	fence *api.NodeFence
	at    time.Time
}

func newDueList(resync time.Duration) *dueList {
	return &dueList{resync: resync, byNode: map[string]*due{}}
}

// put notes a NodeFence as it is now. A missing nextCheck means now (S19), and
// so does a deletion, which asks for the fence's end (S27).
func (d *dueList) put(f *api.NodeFence, now time.Time) {
	old, known := d.byNode[f.Spec.Node]
	if !f.Open() {
		delete(d.byNode, f.Spec.Node)
		return
	}
	if known && old.fence.ResourceVersion == f.ResourceVersion && old.fence.UID == f.UID {
		old.fence = f
		return
	}
	at := now
	if f.Status.NextCheck != nil && f.Status.Generation == f.Spec.Generation && !asked(old, f) {
		at = f.Status.NextCheck.Time
		if !at.After(now) && known {
			// Whoever wrote this has answered with the event that goes on: only
			// if that is lost is it ours to send.
			at = now.Add(replyGrace)
		}
	}
	d.byNode[f.Spec.Node] = &due{fence: f, at: at}
}

// replyGrace is how long a function's own reply may take to arrive.
const replyGrace = time.Second

// asked: a person has just asked for something, which is looked at at once.
func asked(old *due, f *api.NodeFence) bool {
	if f.DeletionTimestamp != nil {
		return old == nil || old.fence.DeletionTimestamp == nil
	}
	return old != nil && old.fence.Generation != f.Generation
}

func (d *dueList) remove(node string) { delete(d.byNode, node) }

// hasOpen tells whether the node has an open fence.
func (d *dueList) hasOpen(node string) bool { return d.byNode[node] != nil }

// wakeUp is one NodeFence to send, with the due time that makes its ID.
type wakeUp struct {
	fence *api.NodeFence
	at    time.Time
}

// take returns what is due. Each is due again a resync later, with another due
// time, so that a wake-up is never swallowed as a duplicate (S19).
func (d *dueList) take(now time.Time) []wakeUp {
	var out []wakeUp
	for _, x := range d.byNode {
		if x.at.After(now) {
			continue
		}
		out = append(out, wakeUp{x.fence, x.at})
		for !x.at.After(now) {
			x.at = x.at.Add(d.resync)
		}
	}
	return out
}

// next is when the next one is due; zero if none is.
func (d *dueList) next() time.Time {
	var first time.Time
	for _, x := range d.byNode {
		if first.IsZero() || x.at.Before(first) {
			first = x.at
		}
	}
	return first
}
