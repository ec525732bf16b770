package policystatus

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// first notes when the statuses are written.
type first struct {
	*shown
	done []string
}

func (f *first) Fences(ctx context.Context) ([]api.NodeFence, error) {
	f.done = append(f.done, "statuses")
	return f.shown.Fences(ctx)
}

// TestStatusesComeFirst: the statuses do not wait for what others wrote.
func TestStatusesComeFirst(t *testing.T) {
	f := &first{shown: &shown{}}
	keep := func(context.Context) error { f.done = append(f.done, "health checks"); return nil }
	w := &Writer{Objects: f, KeepHealthChecks: keep, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	if err := w.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"statuses", "health checks"}, f.done); d != "" {
		t.Error(d)
	}
}
