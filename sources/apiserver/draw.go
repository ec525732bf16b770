package apiserver

import (
	"context"
	"errors"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
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
			s.o.Logger.Warn("the picture of the Leases was not kept", "error", err.Error())
		}
		return
	}
	if s.leases.kept(p) {
		s.changed()
	}
	s.targets.written(turns)
}

// patch writes the picture, and the turns that are to stand there besides, if the ledger
// is as it was read: what another source has written there since would be lost. It tells
// which turns stand there. The picture waits for nobody: if the gates write faster, the
// turns are left to the next one.
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

// turnTries are tries to write turns beside a picture.
const turnTries = 4

// toKeep is the picture that is to stand in the ledger, if it is to be written. Before it
// is, the turns are given that are written beside it.
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
