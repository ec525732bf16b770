package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/test/spans"
)

const source = events.Source("/nodefence/c")

// rig is a tracer with a collector.
type rig struct {
	*Tracer
	t        *testing.T
	received *spans.Receiver
	log      *bytes.Buffer
	reg      *prometheus.Registry
}

func newRig(t *testing.T, collector http.Handler) *rig {
	t.Helper()
	r := &rig{t: t, log: &bytes.Buffer{}, reg: prometheus.NewRegistry()}
	if collector == nil {
		r.received = &spans.Receiver{Header: [2]string{"X-Key", "a b"}}
		collector = r.received
	}
	s := httptest.NewServer(collector)
	t.Cleanup(s.Close)
	var read struct{ Traces Settings }
	must(t, run.Environment(&read))
	read.Traces.Endpoint, read.Traces.Headers = s.URL, "x-key=a%20b"
	var fault string
	r.Tracer, fault = New(t.Context(), read.Traces, "nodefence-test", source, slog.New(slog.NewTextHandler(r.log, nil)), r.reg)
	if fault != "" {
		t.Fatal(fault)
	}
	t.Cleanup(r.Close)
	return r
}

// deciding is a handler that tells of these statuses one after the other, and replies with the
// event of the last.
func (r *rig) deciding(function string, statuses ...api.NodeFenceStatus) run.Handler {
	rep := r.Reporter(silent{})
	return r.Handler(function, func(ctx context.Context, e event.Event) (*event.Event, error) {
		var f *api.NodeFence
		for i, st := range statuses[1:] {
			f = record(st)
			rep.Decided(ctx, report.Decision{Function: function, Cause: e, Before: statuses[i], Fence: f, Action: fence.None})
		}
		reply := source.Phase(f, time.Now(), time.Now())
		events.CausedBy(&reply, e)
		return &reply, nil
	})
}

type silent struct{ report.Reporter }

func (silent) Decided(context.Context, report.Decision) {}

func record(st api.NodeFenceStatus) *api.NodeFence {
	f := &api.NodeFence{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "f"}, Status: st}
	f.Spec.NodeName = "a"
	return f
}

var opened = metav1.NewMicroTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))

// at is the second fence of node a in a phase.
func at(p api.Phase) api.NodeFenceStatus {
	since := metav1.NewMicroTime(opened.Add(time.Minute))
	st := api.NodeFenceStatus{FenceNumber: 2, Phase: p, Reason: "R", OpenedAt: &opened, PhaseSince: &since}
	st.Decision.NodeUID, st.Decision.Policy.Name = "u", "p"
	if p == api.Finished {
		st.Outcome = api.Recovered
	}
	return st
}

// kept is a sender that keeps what it was sent, or fails.
type kept struct {
	events []event.Event
	err    error
}

func (k *kept) Send(_ context.Context, e event.Event) error {
	k.events = append(k.events, e)
	return k.err
}

func (r *rig) call(h run.Handler, e event.Event) event.Event {
	r.t.Helper()
	reply, err := h(r.t.Context(), e)
	if err != nil || reply == nil {
		r.t.Fatal(reply, err)
	}
	return *reply
}

func unhealthy() event.Event {
	return source.Condition(events.ConditionChange{Node: "a", NodeUID: "u", Condition: "Ready", Status: "Unknown", Since: opened.Time, Unhealthy: true}, time.Time{}, time.Now())
}

// next says that node a had one fence, which has ended.
func next(node string) (Fence, bool) { return Fence{Node: node, Number: 2}, false }

// TestAFenceIsOneTrace, from the source on, over every function, over a wake-up of another process,
// and through another tracer, which knows nothing of the first.
func TestAFenceIsOneTrace(t *testing.T) {
	r := newRig(t, nil)
	first := api.NodeFenceStatus{FenceNumber: 1, Phase: api.Finished}
	out := &kept{}
	must(t, r.Sender("source", out, next).Send(t.Context(), unhealthy()))
	isolating := r.call(r.deciding("gate", first, at(api.Pending), at(api.Isolating)), out.events[0])
	fencing := r.call(r.deciding("isolate", at(api.Isolating), at(api.Fencing)), isolating)
	_ = r.call(r.deciding("power", at(api.Fencing), at(api.Fencing)), fencing)
	wake := source.Phase(record(at(api.Fencing)), time.Now(), time.Now())
	must(t, r.Sender("resync", out, nil).Send(t.Context(), wake))
	if tp := wake.Extensions()[events.TraceParent]; tp != nil {
		t.Errorf("the caller's event was changed: %v", tp)
	}
	recovering := r.call(r.deciding("power", at(api.Fencing), at(api.Recovering)), out.events[1])
	_ = r.call(r.deciding("recover", at(api.Recovering), at(api.Finished)), recovering)
	r.Flush(t.Context())
	all := r.received.OfFence("a")
	if n := len(r.received.All()); len(all) != n {
		t.Errorf("%d of %d spans are of the fence's trace", len(all), n)
	}
	for _, f := range append(spans.Faults(all), r.received.Wrong()...) {
		t.Error(f)
	}
	const want = `fence
  source sends node.unhealthy
    gate Pending
      isolate Isolating
        power Fencing
  resync sends fence.fencing
    power Fencing
      recover Recovering
`
	if d := cmp.Diff(want, spans.Tree(all)); d != "" {
		t.Error(d)
	}
	for _, s := range all {
		if s.Name == "fence" && (!s.Begun.Equal(opened.Time) || !s.Ended.Equal(opened.Add(time.Minute)) || s.Attrs["nodefence.outcome"] != "Recovered") {
			t.Errorf("the fence: %+v", s)
		}
		if s.Name == "gate Pending" && (s.Attrs["nodefence.phase"] != "Isolating" || s.Attrs["nodefence.fence.number"] != "2" || s.Service != "nodefence-test") {
			t.Errorf("the gate: %+v", s)
		}
	}
	if n := counter(t, r, "sent"); int(n) != len(all) {
		t.Errorf("%v spans are counted as sent", n)
	}
}

// counter is how many spans are counted with a result.
func counter(t *testing.T, r *rig, result string) (n float64) {
	t.Helper()
	families, err := r.reg.Gather()
	must(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "nodefence_spans_total" && m.GetLabel()[0].GetValue() == result {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// TestOffChangesNothing, and so does a sampler that takes no trace but for the flag that says so.
func TestOffChangesNothing(t *testing.T) {
	off, fault := New(t.Context(), Settings{}, "x", source, nil, nil)
	if off != nil || fault != "" {
		t.Fatal(off, fault)
	}
	out := &kept{}
	if s := off.Sender("source", out, next); s != run.Sender(out) {
		t.Errorf("%T", s)
	}
	off.Flush(t.Context())
	off.Close()
	t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	r := newRig(t, nil)
	must(t, r.Sender("source", out, next).Send(t.Context(), unhealthy()))
	reply := r.call(r.deciding("gate", api.NodeFenceStatus{}, at(api.Pending)), out.events[0])
	r.Flush(t.Context())
	if tp, _ := reply.Extensions()[events.TraceParent].(string); len(r.received.All()) > 0 || !strings.HasSuffix(tp, "-00") {
		t.Errorf("%d spans, traceparent %s", len(r.received.All()), tp)
	}
}

// TestADeadCollectorHoldsNobodyUp: one that never answers, and more spans than there is room for.
func TestADeadCollectorHoldsNobodyUp(t *testing.T) {
	over := make(chan struct{})
	r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-over:
		case <-req.Context().Done():
		}
	}))
	defer close(over)
	h := r.deciding("gate", api.NodeFenceStatus{}, at(api.Pending))
	const more = 100
	for range most + more {
		_ = r.call(h, unhealthy())
	}
	r.Flush(t.Context())
	if n := counter(t, r, "dropped"); n < more {
		t.Errorf("%v spans are counted as dropped, want %d at least", n, more)
	}
}

// TestWhatTheCollectorRefusesIsCounted and said once.
func TestWhatTheCollectorRefusesIsCounted(t *testing.T) {
	ok := false
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ok {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	h := r.deciding("gate", api.NodeFenceStatus{}, at(api.Pending))
	for range 2 {
		_ = r.call(h, unhealthy())
		r.Flush(t.Context())
	}
	ok = true
	_ = r.call(h, unhealthy())
	r.Flush(t.Context())
	if d, s := counter(t, r, "dropped"), counter(t, r, "sent"); d != 2 || s != 1 {
		t.Errorf("%v dropped, %v sent", d, s)
	}
	if log := r.log.String(); strings.Count(log, "spans are lost") != 1 || !strings.Contains(log, "the collector answered 403 Forbidden") || !strings.Contains(log, "takes spans again") {
		t.Error(log)
	}
}

// TestTracesAreTheSameInEveryProcess, of whatever version: these IDs must never change.
func TestTracesAreTheSameInEveryProcess(t *testing.T) {
	root := Fence{Node: "a", NodeUID: "u", Number: 2}.root("/nodefence/c")
	if got := root.TraceID().String() + "-" + root.SpanID().String(); got != "2a466f296f833cf3c72d0a7f1d0ee923-390ac023d3ffeba4" {
		t.Errorf("got %s", got)
	}
	for _, other := range []Fence{{"b", "u", 2}, {"a", "v", 2}, {"a", "u", 3}} {
		if other.root("/nodefence/c").TraceID() == root.TraceID() {
			t.Errorf("%+v has the same trace", other)
		}
	}
	if (Fence{"a", "u", 2}).root("/nodefence/d").TraceID() == root.TraceID() {
		t.Error("another cluster has the same trace")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
