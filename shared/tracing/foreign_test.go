package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/spans"
)

// foreign is a trace of somebody else.
const foreign = "4bf92f3577b34da6a3ce929d0e0e4736"

// from has an event say that a span of this trace sent it.
func from(e event.Event, trace, flags string) event.Event {
	e.SetExtension(events.TraceParent, "00-"+trace+"-00f067aa0ba902b7-"+flags)
	e.SetExtension("tracestate", "theirs=1")
	return e
}

func (r *rig) fails(function string, e event.Event) {
	h := r.Handler(function, func(context.Context, event.Event) (*event.Event, error) { return nil, errors.New("no") })
	if _, err := h(r.t.Context(), e); err == nil {
		r.t.Error("no error")
	}
}

// TestASenderChoosesNoTrace, whatever its event says: a fence's spans are in the fence's own trace, those
// of no fence in a trace of their own, and each links to the sender's. A tick has no span.
func TestASenderChoosesNoTrace(t *testing.T) {
	r := newRig(t, nil)
	root := Of(record(at(api.Pending))).root(r.cluster).TraceID().String()
	_ = r.call(r.deciding("gate", api.NodeFenceStatus{}, at(api.Pending)), from(unhealthy(), foreign, "01"))
	r.fails("gate", from(unhealthy(), foreign, "01"))
	r.fails("power", from(source.Phase(record(at(api.Fencing)), time.Now(), time.Now()), foreign, "01"))
	r.fails("gate", from(unhealthy(), root, "01")) // its payload names no fence
	r.fails("resync", unhealthy())
	r.Flush(t.Context())
	type span struct {
		Name         string
		Fence, Under bool
		Links        []string
		State        string
	}
	var got []span
	traces := map[string]bool{}
	for _, s := range r.received.All() {
		traces[s.Trace] = true
		got = append(got, span{s.Name, s.Trace == root, s.Parent != "", s.Links, s.State})
	}
	want := []span{
		{"gate Pending", true, true, []string{foreign}, ""},
		{"gate node.unhealthy", false, false, []string{foreign}, ""},
		{"power Fencing", true, true, []string{foreign}, ""},
		{"gate node.unhealthy", false, false, []string{root}, ""},
	}
	if d := cmp.Diff(want, got); d != "" || len(traces) != 3 || traces[foreign] {
		t.Error(d, traces)
	}
}

// TestASenderSwitchesNoTraceOff, nor on: the flag in its traceparent does not count, and neither does that
// of a sender who knows the fence's own trace.
func TestASenderSwitchesNoTraceOff(t *testing.T) {
	for name, c := range map[string]struct {
		sampler, arg string
		kept         int
	}{
		"all":     {"", "", 2},
		"always":  {"parentbased_always_on", "", 2},
		"ratio 1": {"parentbased_traceidratio", "1", 2},
		"none":    {"parentbased_always_off", "", 0},
		"ratio 0": {"parentbased_traceidratio", "0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", c.sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", c.arg)
			for _, flags := range []string{"00", "01"} {
				r := newRig(t, nil)
				e := from(unhealthy(), Of(record(at(api.Pending))).root(r.cluster).TraceID().String(), flags)
				reply := r.call(r.deciding("gate", api.NodeFenceStatus{}, at(api.Pending)), e)
				r.fails("gate", from(unhealthy(), foreign, flags))
				r.Flush(t.Context())
				want := "-00"
				if c.kept > 0 {
					want = "-01"
				}
				if tp, _ := reply.Extensions()[events.TraceParent].(string); len(r.received.All()) != c.kept || !strings.HasSuffix(tp, want) {
					t.Errorf("flags %s: %d spans, want %d; the reply says %s", flags, len(r.received.All()), c.kept, tp)
				}
			}
		})
	}
}

// TestARatioKeepsWholeTraces, as many as it says, with either name: in every process, so each span of a
// fence is kept, or none.
func TestARatioKeepsWholeTraces(t *testing.T) {
	for _, sampler := range []string{"traceidratio", "ParentBased_TraceIDRatio"} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
		one, two := newRig(t, nil), newRig(t, nil)
		const fences = 40
		for n := range fences {
			f := Fence{Node: fmt.Sprint("n", n), Number: 1}
			is := func(string) (Fence, bool) { return f, true }
			must(t, one.Sender("source", &kept{}, is).Send(t.Context(), unhealthy()))
			must(t, two.Sender("source", &kept{}, is).Send(t.Context(), unhealthy()))
		}
		one.Flush(t.Context())
		two.Flush(t.Context())
		of := func(r *spans.Receiver) (all []string) {
			for _, s := range r.All() {
				all = append(all, s.Trace)
			}
			return all
		}
		a, b := of(one.received), of(two.received)
		if d := cmp.Diff(a, b); d != "" || len(a) < fences/5 || len(a) > fences*4/5 {
			t.Errorf("%s: %d of %d traces are kept; between processes: %s", sampler, len(a), fences, d)
		}
	}
}
