package apiserver

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

// leaseStore has what is known of the Leases, and which events were sent for them. It puts
// events into the outbox while it holds its lock. Lock order: leaseStore, then outbox. The
// outbox sends only the event of a node that was put last, so the order of puts must be the
// order of changes.
type leaseStore struct {
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

func newLeaseStore(source events.Source, out *outbox.Outbox, log *slog.Logger) *leaseStore {
	p := &leaseStore{source: source, outbox: out, log: log}
	p.begin(time.Time{})
	return p
}

// begin resets the store before each lead.
func (p *leaseStore) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture, p.drawn, p.told = newPicture(now), api.LeasePicture{}, nil
}

// seed takes over the ledger's picture, once the Leases have been listed.
func (p *leaseStore) seed(old api.LeasePicture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.seed(old)
}

func (p *leaseStore) pause(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.pause(now)
}

func (p *leaseStore) resume(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.resume(now)
}

// saw notes a Lease as it is now, and tells whether it has moved, or was not known.
func (p *leaseStore) saw(l *coordinationv1.Lease, now time.Time) (moved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.picture.observe(l.Name, look.LeaseMark(l), look.LeaseRenewal(l), now)
}

func (p *leaseStore) gone(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.forget(node)
}

// tooSlow warns of a Lease whose renewal interval is longer than nodefence accepts, once
// for each interval that the Lease says.
func (p *leaseStore) tooSlow(old, l *coordinationv1.Lease) {
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

// drawing is the present picture, compared with the ledger's picture.
type drawing struct {
	api.LeasePicture
	// watched says that the watch on the Leases stands.
	watched bool
	// news says that the picture is to be written: it shows something else than the
	// ledger's picture, or that picture is too old.
	news bool
	// age is the age of the ledger's picture, if that shows the same.
	age time.Duration
}

func (p *leaseStore) look(here map[string]string, now time.Time) drawing {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := drawing{
		LeasePicture: p.picture.now(func(node string) bool { _, ok := here[node]; return ok }, now),
		watched:      p.picture.paused.IsZero(), news: true,
	}
	if same(p.drawn, d.LeasePicture) {
		d.age = now.Sub(p.drawn.ObservedAt.Time)
		d.news = d.age >= heartbeat
	}
	return d
}

// kept notes that the ledger has this picture. It reports whether fewer Leases stand still
// than in the picture before.
func (p *leaseStore) kept(now api.LeasePicture) (fewer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fewer = now.StillCount < p.drawn.StillCount
	p.drawn = now
	return fewer
}
