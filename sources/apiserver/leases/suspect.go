package leases

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/sources/apiserver/outbox"
)

// Suspects sends an event for each Lease that stands still in the ledger's picture, once
// for each mark of the Lease. The event goes to the gate whatever the policies say, because
// the source does not evaluate policies. A node with an open fence needs no event. A
// picture that spans less than a renewal is not used: a Lease may look still in it only
// because nobody watched (S15: no fence begins on such a picture).
func (p *Store) Suspects(here map[string]string, open map[string]*api.NodeFence, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	still := map[string]string{}
	for _, l := range p.suspiciousLocked(here) {
		if open[l.NodeName] != nil {
			still[l.NodeName] = p.told[l.NodeName]
			continue
		}
		still[l.NodeName] = l.Renewed
		if p.told[l.NodeName] != l.Renewed {
			p.sendLocked(l, here[l.NodeName], time.Time{}, now)
		}
	}
	p.told = still
}

// SuspectsAgain sends all of them again (S19: a lost event costs time only).
func (p *Store) SuspectsAgain(here map[string]string, open map[string]*api.NodeFence, slot, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.suspiciousLocked(here) {
		if open[l.NodeName] == nil {
			p.sendLocked(l, here[l.NodeName], slot, now)
		}
	}
}

// suspiciousLocked returns the still Leases of nodes that exist.
func (p *Store) suspiciousLocked(here map[string]string) (all []api.StillLease) {
	if !spans(p.drawn) || !p.picture.paused.IsZero() {
		return nil
	}
	for _, l := range p.drawn.Still {
		if _, known := here[l.NodeName]; known {
			all = append(all, l)
		}
	}
	return all
}

// sendLocked sends the event of one Lease. The event is stale once the Lease has moved.
func (p *Store) sendLocked(l api.StillLease, uid string, resync, now time.Time) {
	p.outbox.Put(outbox.Letter{
		Event: p.source.Suspect(l.NodeName, uid, l.Renewed, l.Since.Time, resync, now), About: "suspect/" + l.NodeName,
		Stale: func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.picture.leases[l.NodeName].renewed != l.Renewed
		},
	})
}
