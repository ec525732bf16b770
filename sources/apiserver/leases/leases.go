package leases

import (
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// Heartbeat is how old the ledger's picture may get while nothing changes.
const Heartbeat = 10 * time.Second

// Store has what is known of the Leases, and which events were sent for them. It puts
// events into the outbox while it holds its lock. Lock order: Store, then outbox. The
// outbox sends only the event of a node that was put last, so the order of puts must be the
// order of changes.
type Store struct {
	source events.Source
	outbox *outbox.Outbox
	log    *slog.Logger

	mu      sync.Mutex
	picture *picture
	// drawn is the picture that the ledger has.
	drawn api.LeasePicture
	// told has the marks of the still Leases for which an event was sent, by node.
	told map[string]string
}

// New returns a store without Leases, as it is before the first lead. It logs what TooSlow warns
// of.
func New(source events.Source, out *outbox.Outbox, log *slog.Logger) *Store {
	p := &Store{source: source, outbox: out, log: log}
	p.Begin(time.Time{})
	return p
}

// Begin resets the store before each lead. The watch counts as broken until Resume.
func (p *Store) Begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture, p.drawn, p.told = newPicture(now), api.LeasePicture{}, nil
}

// Seed takes over, from the ledger's picture, since when Leases stand still. Call it once, when the
// Leases have been listed.
func (p *Store) Seed(old api.LeasePicture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.inherit(old)
}

// Pause notes that the watch on the Leases is broken; of several calls the first counts.
func (p *Store) Pause(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.breaks(now)
}

// Resume notes that the watch stands. After a gap longer than a renewal the observation begins
// again.
func (p *Store) Resume(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.stands(now)
}

// Saw notes a Lease as it is now, and tells whether it has moved, or was not known.
func (p *Store) Saw(l *coordinationv1.Lease, now time.Time) (moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.picture.observe(l.Name, look.LeaseMark(l), look.LeaseRenewal(l), now)
}

// Gone forgets the Lease of a node, which was deleted.
func (p *Store) Gone(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.forget(node)
}

// TooSlow warns of a Lease whose renewal interval is longer than nodefence accepts, once
// for each interval that the Lease says.
func (p *Store) TooSlow(old, l *coordinationv1.Lease) {
	said, is := look.LeaseTooSlow(l)
	if !is {
		return
	}
	if old != nil {
		if before, _ := look.LeaseTooSlow(old); before == said {
			return
		}
	}
	p.log.Warn("a Lease's leaseDurationSeconds is longer than nodefence accepts; the node counts as unhealthy if it renews the Lease that seldom",
		"node", l.Name, "says", said.String(), "counted", look.SlowestRenewal.String())
}

// Drawing is the present picture, compared with the ledger's picture.
type Drawing struct {
	api.LeasePicture
	// Watched says that the watch on the Leases stands.
	Watched bool
	// News says that the picture is to be written: it shows something else than the
	// ledger's picture, or that picture is too old.
	News bool
	// Age is the age of the ledger's picture, if that shows the same.
	Age time.Duration
}

// Look draws the picture of the Leases of the nodes that exist. here has the UIDs of these nodes
// by name; now is the API server's time.
func (p *Store) Look(here map[string]string, now time.Time) Drawing {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := Drawing{
		LeasePicture: p.picture.now(func(node string) bool { _, ok := here[node]; return ok }, now),
		Watched:      p.picture.paused.IsZero(), News: true,
	}
	if same(p.drawn, d.LeasePicture) {
		d.Age = now.Sub(p.drawn.ObservedAt.Time)
		d.News = d.Age >= Heartbeat
	}
	return d
}

// Kept notes that the ledger has this picture. It reports whether fewer Leases stand still
// than in the picture before.
func (p *Store) Kept(now api.LeasePicture) (fewer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fewer = now.StillCount < p.drawn.StillCount
	p.drawn = now
	return fewer
}
