package tracing

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/shared/report"
)

// TestAFaultOfTheTracesIsNoFaultOfAFence: what panics here is counted, and said once; the event is
// handled, sent and told as without traces.
func TestAFaultOfTheTracesIsNoFaultOfAFence(t *testing.T) {
	r := newRig(t, nil)
	rep, told, handled := r.Reporter(silent{}), 0, 0
	h := r.Handler("gate", func(ctx context.Context, _ event.Event) (*event.Event, error) {
		rep.Decided(ctx, report.Decision{}) // of no fence
		told++
		return &event.Event{}, nil // without a context, which takes no extension
	})
	out := &kept{}
	s := r.Sender("source", out, func(string) (Fence, bool) { panic("oh") })
	for range 2 {
		if reply, err := h(t.Context(), forged(1)); reply == nil || err != nil {
			t.Error(reply, err)
		}
		handled++
		must(t, s.Send(t.Context(), unhealthy()))
	}
	if told != 2 || handled != 2 || len(out.events) != 2 {
		t.Errorf("%d told, %d handled, %d sent", told, handled, len(out.events))
	}
	if n, log := counter(t, r, "dropped"), r.log.String(); n != 6 || strings.Count(log, "level=ERROR") != 1 || !strings.Contains(log, "guard_test.go") {
		t.Errorf("%v spans are dropped: %s", n, log)
	}
}
