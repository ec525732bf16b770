package local

import (
	"context"
	"time"

	"github.com/nodefence/nodefence/shared/fence"
)

// wake drives the second waker, on a clock of its own (S19).
func (l *Local) wake(ctx context.Context) {
	w := l.parts.Waker()
	tick := time.NewTicker(fence.Resync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := w.Wake(ctx); err != nil && ctx.Err() == nil {
				l.log.Warn("second waker: not now", "error", err.Error())
			}
		}
	}
}
