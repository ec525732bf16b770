package local

import (
	"context"
	"time"

	"github.com/nodefence/nodefence/shared/fence"
)

// wake is the second waker: independent of the source, it sends again what is
// overdue for a whole resync (S19).
func (l *Local) wake(ctx context.Context) {
	tick := time.NewTicker(fence.Resync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.wakeOverdue(ctx)
		}
	}
}

func (l *Local) wakeOverdue(ctx context.Context) {
	fences, err := l.Client.Fences(ctx)
	if err != nil {
		l.log.Warn("second waker: not now", "error", err.Error())
		return
	}
	now := l.Client.Clock().Now()
	for i := range fences {
		f := &fences[i]
		if !f.Open() || (f.Status.NextCheck != nil && now.Sub(f.Status.NextCheck.Time) < fence.Resync) {
			continue
		}
		if err := l.Broker.Publish(ctx, l.parts.Source.Phase(f, now.Truncate(fence.Resync), now)); err != nil {
			l.log.Warn("second waker: event not stored", "node", f.Spec.Node, "error", err.Error())
			continue
		}
		l.log.Info("second waker: overdue", "node", f.Spec.Node, "fence", string(f.UID), "phase", string(f.CurrentPhase()))
	}
}
