package apiserver

import (
	"sync"
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// dueStore is the open fences and when each is looked at. It puts their wake-ups into the
// outbox under its lock, which comes before the outbox's: of two wake-ups of one fence only
// the one that is put last is sent, and that must be the newer.
type dueStore struct {
	source events.Source
	outbox *outbox
	resync time.Duration
	// wake ends the wait for the next one that is due.
	wake chan struct{}

	mu   sync.Mutex
	list *dueList
	// ledger is what was last heard of it that may hold fences.
	ledger string
}

func newDueStore(source events.Source, out *outbox, resync time.Duration) *dueStore {
	d := &dueStore{source: source, outbox: out, resync: resync, wake: make(chan struct{}, 1)}
	d.begin()
	return d
}

// begin is before each lead.
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

// look has the loop see what is due by now.
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

// fence is the node's open fence; nil if it has none.
func (d *dueStore) fence(node string) *api.NodeFence {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.list.byNode[node]; x != nil {
		return x.fence
	}
	return nil
}

func (d *dueStore) hasOpen(node string) bool { return d.fence(node) != nil }

// open are the open fences by node.
func (d *dueStore) open() map[string]*api.NodeFence {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]*api.NodeFence, len(d.list.byNode))
	for node, x := range d.list.byNode {
		all[node] = x.fence
	}
	return all
}

// sendDue sends what is due and tells when the next is; zero if none is.
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

// sendLocked sends a fence's phase; it is stale once the fence has gone on.
func (d *dueStore) sendLocked(f *api.NodeFence, due, now time.Time) {
	node, uid, number, seen := f.Spec.NodeName, f.UID, f.Status.FenceNumber, f.Status.Transitions
	d.outbox.put(letter{event: d.source.Phase(f, due, now), about: "fence/" + string(uid), stale: func() bool {
		is := d.fence(node)
		return is == nil || is.UID != uid || is.Status.FenceNumber != number || is.Status.Transitions != seen
	}})
}

// unhold has all fences that wait looked at soon.
func (d *dueStore) unhold(now time.Time) {
	d.mu.Lock()
	d.list.hurryAll(now)
	d.mu.Unlock()
	d.look()
}

// heard is unhold if the ledger says something else than before of what may hold fences.
func (d *dueStore) heard(ledger string, now time.Time) {
	d.mu.Lock()
	was := d.ledger
	d.ledger = ledger
	d.mu.Unlock()
	if was != "" && was != ledger {
		d.unhold(now)
	}
}
