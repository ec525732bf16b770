package due

import (
	"sync"
	"time"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// Store has the open fences, and when each is due to be looked at. It puts wake-ups into
// the outbox while it holds its lock. Lock order: Store, then outbox or nodes. The outbox sends
// only the wake-up of a fence that was put last, so the order of puts must be the order of
// changes.
type Store struct {
	source events.Source
	outbox *outbox.Outbox
	resync time.Duration
	labels func(node string) map[string]string
	// wake is what Wake returns.
	wake chan struct{}

	mu   sync.Mutex
	list *dueList
	// ledger is the part of the ledger that may hold fences, as last heard.
	ledger string
}

// New returns a store without fences, as it is before the first lead. A fence that does not
// change is sent again after resync. labels has those of a node, and is called while the store is locked.
func New(source events.Source, out *outbox.Outbox, resync time.Duration, labels func(node string) map[string]string) *Store {
	d := &Store{source: source, outbox: out, resync: resync, labels: labels, wake: make(chan struct{}, 1)}
	d.Begin()
	return d
}

// Begin resets the store before each lead.
func (d *Store) Begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list, d.ledger = newDueList(d.resync, d.labels), ""
}

// Put notes a NodeFence as it is now: f must not be changed afterwards. A closed one is forgotten.
func (d *Store) Put(f *api.NodeFence, now time.Time) {
	d.mu.Lock()
	d.list.note(f, now)
	d.mu.Unlock()
	d.look()
}

// Wake is the channel that interrupts the loop's wait for the next due time: what is due may have
// changed.
func (d *Store) Wake() <-chan struct{} { return d.wake }

// look makes the loop send what is due by now.
func (d *Store) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Remove forgets the node's fence, whose record was deleted.
func (d *Store) Remove(node string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list.drop(node)
}

// Fence returns the node's open fence; nil if it has none.
func (d *Store) Fence(node string) *api.NodeFence {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.list.byNode[node]; x != nil {
		return x.fence
	}
	return nil
}

// HasOpen reports whether the node has an open fence.
func (d *Store) HasOpen(node string) bool { return d.Fence(node) != nil }

// Open returns the open fences by node.
func (d *Store) Open() map[string]*api.NodeFence {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]*api.NodeFence, len(d.list.byNode))
	for node, x := range d.list.byNode {
		all[node] = x.fence
	}
	return all
}

// SendDue sends what is due, and returns the next due time; zero if there is none.
func (d *Store) SendDue(now time.Time) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.list.take(now) {
		d.sendLocked(w, now)
	}
	return d.list.next()
}

// Send sends the node's open fence, if it has one, as due at the given time. counted is closed once the
// ledger's census has what it is sent for; nil if it need not have that.
func (d *Store) Send(node string, due time.Time, counted <-chan struct{}, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.list.byNode[node]; x != nil {
		d.sendLocked(wakeUp{x.fence, due, counted}, now)
	}
}

// sendLocked sends an event for the fence's phase. The event is stale once the fence is in
// another phase.
func (d *Store) sendLocked(w wakeUp, now time.Time) {
	f := w.fence
	node, uid, number, seen := f.Spec.NodeName, f.UID, f.Status.FenceNumber, f.Status.Transitions
	d.outbox.Put(outbox.Letter{Event: d.source.Phase(f, w.at, now), About: "fence/" + string(uid), Counted: w.counted, Stale: func() bool {
		is := d.Fence(node)
		return is == nil || is.UID != uid || is.Status.FenceNumber != number || is.Status.Transitions != seen
	}})
}

// Unhold makes all fences that wait with the gate due soon: somebody has changed what holds them.
func (d *Store) Unhold(now time.Time) { d.wakeAll(whichever, nil, now) }

// Calmer makes the fences due soon that wait with the gate for anything but a slot: fewer nodes are
// unhealthy, or silent. counted is closed once the ledger's census has that; nil if it has it.
func (d *Store) Calmer(counted <-chan struct{}, now time.Time) {
	d.wakeAll(waitsForNoSlot, counted, now)
}

// wakeAll makes the fences due soon that may go on.
func (d *Store) wakeAll(may func(*api.NodeFence) bool, counted <-chan struct{}, now time.Time) {
	d.mu.Lock()
	d.list.wakeAll(may, counted, now)
	d.mu.Unlock()
	d.look()
}

// Freed wakes the fences that have waited longest for this one: it holds no slot any more, or is over.
// counted is closed once the ledger's census has that.
func (d *Store) Freed(freed *api.NodeFence, counted <-chan struct{}, now time.Time) {
	d.mu.Lock()
	d.list.wakeNext(freed, counted, now)
	d.mu.Unlock()
	d.look()
}

// ChecksEnded wakes the fences that have waited longest for the Jobs of other fences' checks to end.
func (d *Store) ChecksEnded(now time.Time) {
	d.mu.Lock()
	d.list.wakeForChecks(now)
	d.mu.Unlock()
	d.look()
}

// Heard calls Unhold if the part of the ledger that may hold fences has changed. The first call
// of a lead only notes it.
func (d *Store) Heard(ledger string, now time.Time) {
	d.mu.Lock()
	was := d.ledger
	d.ledger = ledger
	d.mu.Unlock()
	if was != "" && was != ledger {
		d.Unhold(now)
	}
}
