package run

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestEvery: a tick that fails is logged, and the next one tries again. What fails because the context
// has ended is not logged.
func TestEvery(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	ticks := 0
	Every(ctx, time.Millisecond, slog.New(slog.NewTextHandler(&out, nil)), "f", "again", func(context.Context) error {
		if ticks++; ticks == 3 {
			stop()
		}
		return errors.New("broken")
	})
	if ticks != 3 || strings.Count(out.String(), "msg=again function=f error=broken") != 2 {
		t.Errorf("%d ticks: %s", ticks, out.String())
	}
}
