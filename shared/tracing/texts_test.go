package tracing

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/report"
)

// forged is an event of node a whose texts are long and no UTF-8.
func forged(bytes int) event.Event {
	long := strings.Repeat("x", bytes) + "\xff"
	e := unhealthy()
	e.SetID("\xffi" + long)
	e.SetSource("s\xff" + long)
	e.SetSubject("n\xff" + long)
	e.SetType("t\xff" + long)
	e.SetExtension(events.TraceParent, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	e.SetExtension("tracestate", strings.Repeat("k=v,", bytes))
	return e
}

// TestAForgedEventFillsNoMemory, and takes no other span with it: each text of a span is a short one
// in UTF-8, whatever the event or an error says.
func TestAForgedEventFillsNoMemory(t *testing.T) {
	for _, bytes := range []int{10, 1 << 20} {
		r := newRig(t, nil)
		fails := errors.New("e\xff" + strings.Repeat("x", bytes))
		rep := r.Reporter(silent{})
		_, _ = r.Handler("gate", func(context.Context, event.Event) (*event.Event, error) { return nil, fails })(t.Context(), forged(bytes))
		_, _ = r.Handler("power", func(ctx context.Context, e event.Event) (*event.Event, error) {
			f := record(at(api.Fencing))
			rep.Decided(ctx, report.Decision{Function: "power", Cause: e, Before: f.Status, Fence: f, Action: fence.None, Err: fails})
			reply := forged(bytes)
			return &reply, nil
		})(t.Context(), forged(bytes))
		_ = r.Sender("source", &kept{err: fails}, func(string) (Fence, bool) { return Fence{Node: "a"}, true }).Send(t.Context(), forged(bytes))
		r.Flush(t.Context())
		all := r.received.All()
		if len(all) != 3 {
			t.Fatalf("%d spans of 3 came: %s", len(all), r.log.String())
		}
		for _, s := range all {
			texts := map[string]string{"name": s.Name, "error": s.Err, "trace state": s.State}
			for k, v := range s.Attrs {
				texts[k] = v
			}
			for k, v := range s.Events {
				texts["event's "+k] = v
			}
			for k, v := range texts {
				if len(v) > textBytes {
					t.Errorf("%.40s: %s has %d bytes", s.Name, k, len(v))
				}
			}
		}
	}
}
