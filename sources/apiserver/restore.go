package apiserver

import (
	"context"
	"errors"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// rememberEvery is how often each replica reads the ledger, the standby too. So at least
// one replica knows how far the API server's state had come before a restore: a function's
// process may have started after it.
const rememberEvery = 2 * time.Second

// errWentBack restarts the watches after a restore: a watch asks for changes after a
// resourceVersion that the restored API server may not reach for hours.
var errWentBack = errors.New("the API server's state went back in time")

// remember reads the ledger until ctx ends, or until this replica has noticed a restore and
// written it into the ledger (S16).
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

// tellRestore reads the ledger. If that read shows a restore, it writes the restore into
// the ledger.
func (s *Source) tellRestore(ctx context.Context) (told bool) {
	l, err := s.o.Client.Ledger(ctx)
	if err != nil {
		return false // the API server is away, and may be restored when it returns
	}
	s.ledgerSeen(l)
	back := s.o.Client.WentBack()
	if back == nil {
		return false
	}
	if err := s.o.Client.SaveWentBack(ctx, l); err != nil {
		s.o.Logger.Warn("cannot write a restore into the ledger; trying again", "error", err.Error())
		return false
	}
	s.o.Logger.Error("the API server's state went back in time: nothing new starts until a person confirms", "from", back.From, "to", back.To)
	return true
}

// ledgerToDraw reads the ledger before a picture is written into it. It returns nil if the
// read fails, or if it shows a restore: remember must write that first.
func (s *Source) ledgerToDraw(ctx context.Context) *api.FenceLedger {
	l, err := s.o.Client.Ledger(ctx)
	if err != nil || s.o.Client.WentBack() != nil {
		return nil
	}
	return l
}
