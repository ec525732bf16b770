package apiserver

import (
	"sync"
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// dueStore has the open fences, and when each is due to be looked at. It puts wake-ups into
// the outbox while it holds its lock. Lock order: dueStore, then outbox. The outbox sends
// only the wake-up of a fence that was put last, so the order of puts must be the order of
// changes.
type dueStore struct {
	source events.Source
	outbox *outbox.Outbox
	resync time.Duration
	// wake interrupts the loop's wait for the next due time.
	wake chan struct{}

	mu   sync.Mutex
	list *dueList
	// ledger is the part of the ledger that may hold fences, as last heard.
	ledger string
}

func newDueStore(source events.Source, out *outbox.Outbox, resync time.Duration) *dueStore {
	d := &dueStore{source: source, outbox: out, resync: resync, wake: make(chan struct{}, 1)}
	d.begin()
	return d
}

// begin resets the store before each lead.
func (d *dueStore) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list, d.ledger = newDueList(d.resync), ""
}

// put notes a NodeFence as it is now.
func (d *dueStore) put(f *api.NodeFence, now time.Time) {
	d.mu.Lock()
	d.list.put(f, now)
	d.mu.Unlock()
	d.look()
}

// look makes the loop send what is due by now.
func (d *dueStore) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *dueStore) remove(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list.remove(node)
}

// fence returns the node's open fence; nil if it has none.
func (d *dueStore) fence(node string) *api.NodeFence {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.list.byNode[node]; x != nil {
		return x.fence
	}
	return nil
}

func (d *dueStore) hasOpen(node string) bool { return d.fence(node) != nil }

// open returns the open fences by node.
func (d *dueStore) open() map[string]*api.NodeFence {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]*api.NodeFence, len(d.list.byNode))
	for node, x := range d.list.byNode {
		all[node] = x.fence
	}
	return all
}

// sendDue sends what is due, and returns the next due time; zero if there is none.
func (d *dueStore) sendDue(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.list.take(now) {
		d.sendLocked(w.fence, w.at, now)
	}
	return d.list.next()
}

// send sends the node's open fence, if it has one.
func (d *dueStore) send(node string, due, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.list.byNode[node]; x != nil {
		d.sendLocked(x.fence, due, now)
	}
}

// sendLocked sends an event for the fence's phase. The event is stale once the fence is in
// another phase.
func (d *dueStore) sendLocked(f *api.NodeFence, due, now time.Time) {
	node, uid, number, seen := f.Spec.NodeName, f.UID, f.Status.FenceNumber, f.Status.Transitions
	d.outbox.Put(outbox.Letter{Event: d.source.Phase(f, due, now), About: "fence/" + string(uid), Stale: func() bool {
		is := d.fence(node)
		return is == nil || is.UID != uid || is.Status.FenceNumber != number || is.Status.Transitions != seen
	}})
}

// unhold makes all fences that wait with the gate due soon.
func (d *dueStore) unhold(now time.Time) {
	d.mu.Lock()
	d.list.hurryAll(now)
	d.mu.Unlock()
	d.look()
}

// heard calls unhold if the part of the ledger that may hold fences has changed.
func (d *dueStore) heard(ledger string, now time.Time) {
	d.mu.Lock()
	was := d.ledger
	d.ledger = ledger
	d.mu.Unlock()
	if was != "" && was != ledger {
		d.unhold(now)
	}
}
