package apiserver

import (
	"context"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// pictureEvery is how often the Leases are looked over; heartbeat is how old
// the ledger's picture may get while nothing changes.
const (
	pictureEvery = 500 * time.Millisecond
	heartbeat    = 10 * time.Second
)

// pictures runs beside loop, because its write may wait for a slow API server
// and a wake-up must not.
func (s *Source) pictures(ctx context.Context) {
	tick, sweep := time.NewTicker(pictureEvery), time.NewTicker(s.o.Resync)
	defer tick.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.draw(ctx)
			s.suspects()
			s.sendChecks()
		case <-sweep.C:
			s.sweep(ctx)
		}
	}
}

// draw keeps the ledger's picture of the Leases: at once when it shows something
// else, and often enough that the gate can trust its age. While nobody watches
// it is left to grow old, because its age is all that tells the gate so (S15).
func (s *Source) draw(ctx context.Context) {
	p, checks, keep := s.toKeep()
	if !keep || s.wentBack(ctx) {
		return
	}
	if err := s.o.Client.PatchLeases(ctx, p, checks); err != nil {
		if ctx.Err() == nil {
			s.o.Logger.Warn("the picture of the Leases was not kept", "error", err.Error())
		}
		return
	}
	s.mu.Lock()
	if p.StillCount < s.drawn.StillCount {
		s.unhold()
	}
	s.drawn = p
	s.pace.written(checks)
	s.mu.Unlock()
}

func (s *Source) toKeep() (api.LeasePicture, map[string]*api.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	p := s.picture.now(func(node string) bool { _, ok := s.nodes[node]; return ok }, now)
	first := s.checks && s.pace.at.IsZero() // nobody had a turn yet
	if !s.picture.paused.IsZero() || same(s.drawn, p) && now.Sub(s.drawn.ObservedAt.Time) < heartbeat && !first && !s.hurries(now, p) {
		return p, nil, false
	}
	return p, s.turns(now, p), true
}
