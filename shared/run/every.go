package run

import (
	"context"
	"log/slog"
	"time"
)

// Every does something at every tick until ctx ends, one time after the other. An error is logged with
// these words, and the next tick tries again.
func Every(ctx context.Context, tick time.Duration, log *slog.Logger, function, words string, do func(ctx context.Context) error) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := do(ctx); err != nil && ctx.Err() == nil {
			log.Warn(words, "function", function, "error", err.Error())
		}
	}
}
