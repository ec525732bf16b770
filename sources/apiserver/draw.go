package apiserver

import (
	"context"
	"errors"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// pictureEvery is how often the Leases are evaluated; heartbeat is how old the ledger's
// picture may get while nothing changes.
const (
	pictureEvery = 500 * time.Millisecond
	heartbeat    = 10 * time.Second
)

// pictures runs beside loop, because its write may wait for a slow API server and a wake-up
// must not.
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

// draw writes the picture of the Leases into the ledger: at once when it shows something
// else, and often enough that the gate can trust its age. While nobody watches, draw writes
// nothing, so that the picture grows old: its age alone tells the gate (S15: nothing begins
// on what nobody watched).
func (s *Source) draw(ctx context.Context) {
	p, keep := s.toKeep()
	if !keep {
		return
	}
	l := s.ledgerToDraw(ctx)
	if l == nil {
		return
	}
	turns, err := s.patch(ctx, p, l)
	if err != nil {
		if ctx.Err() == nil {
			s.o.Logger.Warn("cannot write the picture of the Leases into the ledger; the next tick tries again", "error", err.Error())
		}
		return
	}
	if s.leases.kept(p) {
		s.changed()
	}
	s.targets.written(turns)
}

// patch writes the picture, together with the turns that the ledger should hold. The turns
// are written only if the ledger is still as it was read, because another source may have
// written turns since. patch returns the turns that the ledger holds. The picture does not
// wait: if the gates write faster, the turns are left to the next write.
func (s *Source) patch(ctx context.Context, p api.LeasePicture, l *api.FenceLedger) ([]api.NodeTurn, error) {
	for range turnTries {
		turns := s.targets.toStand(l, s.now())
		if turns == nil {
			break
		}
		err := s.o.Client.SaveLeasePicture(ctx, p, turns, l.ResourceVersion)
		if err == nil || !errors.Is(err, kube.ErrConflict) {
			return turns, err
		}
		if l = s.ledgerToDraw(ctx); l == nil {
			return nil, err
		}
	}
	return l.Status.Checks, s.o.Client.SaveLeasePicture(ctx, p, nil, "")
}

// turnTries bounds the tries to write turns with a picture.
const turnTries = 4

// toKeep returns the picture, and whether it is to be written now. If it is, toKeep first
// hands out the turns that are written with it.
func (s *Source) toKeep() (api.LeasePicture, bool) {
	now, here := s.now(), s.nodes.uids()
	d := s.leases.look(here, now)
	if !d.watched {
		return d.LeasePicture, false
	}
	free := freeOf(here, s.due.open(), d.LeasePicture)
	if !d.news && !s.targets.hurries(now, d.age, free) {
		return d.LeasePicture, false
	}
	s.targets.turns(now, here, free)
	return d.LeasePicture, true
}
