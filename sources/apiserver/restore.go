package apiserver

import (
	"context"
	"errors"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// rememberEvery is how often each replica, the standby too, reads the ledger, so that
// one that was not asleep knows how far the API server's state had come: a function's
// process may never have looked before.
const rememberEvery = 2 * time.Second

// errWentBack has the watches begun anew: they ask for what comes after a
// resourceVersion that the API server may not reach for hours.
var errWentBack = errors.New("the API server's state went back in time")

// remember looks until ctx ends, or until the ledger tells of a restore that was
// seen here (S16).
func (s *Source) remember(ctx context.Context, restored context.CancelCauseFunc) {
	tick := time.NewTicker(s.remembers)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.tellRestore(ctx) {
				restored(errWentBack)
				return
			}
		}
	}
}

// tellRestore reads the ledger, and writes into it what shows by that.
func (s *Source) tellRestore(ctx context.Context) (told bool) {
	l, err := s.o.Client.Ledger(ctx)
	if err != nil {
		return false // it is away: the next one may be the restored one
	}
	s.ledgerSeen(l)
	back := s.o.Client.WentBack()
	if back == nil {
		return false
	}
	if err := s.o.Client.SaveWentBack(ctx, l); err != nil {
		s.o.Logger.Warn("a restore was not told; it is tried again", "error", err.Error())
		return false
	}
	s.o.Logger.Error("the API server's state went back in time: nothing new starts until a person confirms", "from", back.From, "to", back.To)
	return true
}

// ledgerToDraw reads the ledger for what is about to be drawn into it: a restore that shows
// by that is told first, by remember. No answer is no leave to draw either: nil.
func (s *Source) ledgerToDraw(ctx context.Context) *api.FenceLedger {
	l, err := s.o.Client.Ledger(ctx)
	if err != nil || s.o.Client.WentBack() != nil {
		return nil
	}
	return l
}
