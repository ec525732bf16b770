package apiserver

import (
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
)

// leaseStore is what is known of the Leases, and what was told of it. It puts suspects
// into the outbox under its lock, which comes before the outbox's: of two of one node only
// the one that is put last is sent, and that must be the newer.
type leaseStore struct {
	source events.Source
	outbox *outbox
	log    *slog.Logger

	mu      sync.Mutex
	picture *picture
	// drawn is the picture that the ledger has.
	drawn api.LeasePicture
	// told are the marks of the still Leases that were sent, by node.
	told map[string]string
}

func newLeaseStore(source events.Source, out *outbox, log *slog.Logger) *leaseStore {
	p := &leaseStore{source: source, outbox: out, log: log}
	p.begin(time.Time{})
	return p
}

// begin is before each lead.
func (p *leaseStore) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture, p.drawn, p.told = newPicture(now), api.LeasePicture{}, nil
}

// seed takes over what the ledger has, once the Leases were listed.
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

func (p *leaseStore) saw(l *coordinationv1.Lease, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.observe(l.Name, look.LeaseMark(l), look.LeaseRenewal(l), now)
}

func (p *leaseStore) gone(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture.forget(node)
}

func (s *Source) leaseHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			l := obj.(*coordinationv1.Lease)
			s.leases.tooSlow(nil, l)
			s.leases.saw(l, s.now())
		},
		UpdateFunc: func(old, obj any) {
			l := obj.(*coordinationv1.Lease)
			s.leases.tooSlow(old.(*coordinationv1.Lease), l)
			s.leases.saw(l, s.now())
		},
		DeleteFunc: func(obj any) { s.leases.gone(nameOf(obj)) },
	}
}

// tooSlow tells of a Lease that is not believed how seldom it is renewed, once for
// each thing that it says.
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
	p.log.Warn("a Lease says that it is renewed less often than is believed: its node counts as unhealthy if that is so (leaseDurationSeconds)",
		"node", l.Name, "says", said.String(), "counted", look.SlowestRenewal.String())
}

// drawing is the picture of now beside the one that the ledger has.
type drawing struct {
	api.LeasePicture
	// watched: somebody watches the Leases.
	watched bool
	// news: it shows something else than the ledger's, or that one is too old.
	news bool
	// age is the ledger's, if that shows the same.
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

// kept: the ledger has this picture. It tells whether fewer Leases stand still in it than
// in the one before.
func (p *leaseStore) kept(now api.LeasePicture) (fewer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fewer = now.StillCount < p.drawn.StillCount
	p.drawn = now
	return fewer
}
