package census

import (
	"sync"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Store has what the census counts besides the nodes and the open fences, and who
// waits until the ledger has a change.
type Store struct {
	mu       sync.Mutex
	policies map[string]api.FencePolicy
	budgets  map[string]api.FenceBudget
	// closed are the fences that are closed, by node.
	closed map[string]api.CountedFence
	// drawn is the census that the ledger has, and ledger is the ledger as it was written
	// or read last; nil where that is not known.
	drawn  *api.Census
	ledger *api.FenceLedger
	// taken is the number of the last change that a census has; changes counts them all.
	changes, taken uint64
	waiting        []awaitsCensus
	// beyond is what Beyond noted last.
	beyond string
	// wake is what Wake returns.
	wake chan struct{}
}

// awaitsCensus is closed once the ledger has the change of this number.
type awaitsCensus struct {
	change uint64
	there  chan struct{}
}

// New returns an empty store, as it is before the first lead.
func New() *Store {
	c := &Store{wake: make(chan struct{}, 1)}
	c.Begin()
	return c
}

// Begin resets the store before each lead. Who waits from before goes on waiting, and has its
// change with the next census.
func (c *Store) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policies, c.budgets = map[string]api.FencePolicy{}, map[string]api.FenceBudget{}
	c.closed, c.drawn, c.ledger, c.taken, c.beyond = map[string]api.CountedFence{}, nil, nil, 0, ""
	c.changes++
}

// Changed notes that something else counts now, and asks for a census at once. The channel
// is closed when the ledger has it.
func (c *Store) Changed() <-chan struct{} {
	c.mu.Lock()
	c.changes++
	w := awaitsCensus{c.changes, make(chan struct{})}
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return w.there
}

// Wake is the channel that asks for a census before its time.
func (c *Store) Wake() <-chan struct{} { return c.wake }

// Fence notes a NodeFence as it was seen. The next census has it, and no census is hurried for
// it: it takes a slot by its reservation.
func (c *Store) Fence(f *api.NodeFence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	if delete(c.closed, f.Spec.NodeName); !f.Open() {
		c.closed[f.Spec.NodeName] = admission.CountedFence(f)
	}
}

// Forget drops a NodeFence that is deleted.
func (c *Store) Forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.closed, node)
}

// Ended is the number of the node's last fence, which has ended; 0 where there was none.
func (c *Store) Ended(node string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed[node].FenceNumber
}

// Policy notes a FencePolicy as it is now, nil if it was deleted, and asks for a census at once.
func (c *Store) Policy(name string, p *api.FencePolicy) {
	c.mu.Lock()
	if p == nil {
		delete(c.policies, name)
	} else {
		c.policies[name] = *p
	}
	c.mu.Unlock()
	c.Changed()
}

// Budget notes a FenceBudget as it is now, nil if it was deleted, and asks for a census at once.
func (c *Store) Budget(name string, b *api.FenceBudget) {
	c.mu.Lock()
	if b == nil {
		delete(c.budgets, name)
	} else {
		c.budgets[name] = *b
	}
	c.mu.Unlock()
	c.Changed()
}

// News is the number of the newest change, for There, and whether the last census lacks it.
func (c *Store) News() (change uint64, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes, c.changes != c.taken || c.drawn == nil
}

// mostEnded is how many closed fences without a slot a census has: as many as leave room for the
// open ones. If there are more, the next decision lists the cluster, and the ledger drops them.
const mostEnded = api.MaxCensusFences / 4

// Into adds what is known here to what a census is taken of. It adds the closed fences only if the
// ledger is known, because those count while it has a slot for them, or has them under way.
func (c *Store) Into(w *admission.Watched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.policies {
		w.Policies = append(w.Policies, p)
	}
	for _, b := range c.budgets {
		w.Budgets = append(w.Budgets, b)
	}
	if c.ledger == nil {
		return
	}
	w.Admitted = c.ledger.Status.Admitted
	for _, r := range c.ledger.Status.Reservations {
		if f, is := c.closed[r.NodeName]; is {
			w.Closed = append(w.Closed, f)
		}
	}
	ended := 0
	for _, u := range c.ledger.Status.UnderWay {
		if f, is := c.closed[u.NodeName]; is && ended < mostEnded {
			w.Closed, ended = append(w.Closed, f), ended+1
		}
	}
}

// There notes that the ledger has every change up to this one, or needs none of them. It closes
// the channels of those who wait for one of them.
func (c *Store) There(change uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = max(c.taken, change)
	var left []awaitsCensus
	for _, w := range c.waiting {
		if w.change <= change {
			close(w.there)
		} else {
			left = append(left, w)
		}
	}
	c.waiting = left
}

// Known is the ledger as this source has written it last; nil if it is to be read. The caller must
// not change it.
func (c *Store) Known() *api.FenceLedger {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger
}

// Wrote notes what the ledger has now: the ledger as it was written, nil if that is not known, and
// the census in it, nil if it has none of this source.
func (c *Store) Wrote(l *api.FenceLedger, census *api.Census) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger, c.drawn = l, census
}

// leads is how old the census of a source may be that leads, with room for a slow API server. Such
// a source writes one every leases.Heartbeat at least.
const leads = 30 * time.Second

// OthersIn tells whether the ledger has a census of another source that was written after
// this one's last, and not long before now: this one has stopped leading, and does not know it yet.
// An older one, or one of a time that is still to come, is the last word of a source that leads no
// more, by a clock that was ahead.
func (c *Store) OthersIn(l *api.FenceLedger, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := l.Status.Census
	later := is != nil && c.drawn != nil && is.Source != c.drawn.Source && is.ObservedAt.After(c.drawn.ObservedAt.Time)
	return later && observed.Fresh(is.ObservedAt.Time, now, leads)
}

// Differs reports whether a census says something else than the one that this source wrote last.
// Either may be nil.
func (c *Store) Differs(census *api.Census) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !admission.SameCensus(c.drawn, census)
}

// Beyond notes of what there is more than a census holds, empty if of nothing, and tells whether there
// was none before, or is none any more.
func (c *Store) Beyond(what string) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news = (what == "") != (c.beyond == "")
	c.beyond = what
	return news
}
