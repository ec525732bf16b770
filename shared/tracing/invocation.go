package tracing

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodefence/nodefence/events"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/report"
	"github.com/nodefence/nodefence/shared/run"
)

// invocation is one event in one function, with what was decided in it so far.
type invocation struct {
	*Tracer
	function string
	cause    event.Event
	begun    time.Time
	id       trace.SpanID

	mu      sync.Mutex
	decided []decision
	// ended are the fences that it has ended.
	ended []api.NodeFence
}

// decision is what is kept of one, with the time at which it was told.
type decision struct {
	at    time.Time
	of    Fence
	phase api.Phase // before it
	attrs []attribute.KeyValue
	err   error
}

type invocationKey struct{}

// Handler makes a span of each event that h takes, in the trace of the fence that was decided on, or else
// of the fence that the event's payload names. An event of no fence gets a trace of its own if it names the
// span that sent it, and none else, such as a tick. What an event says in traceparent decides on no trace.
func (t *Tracer) Handler(function string, h run.Handler) run.Handler {
	if t == nil {
		return h
	}
	h = run.Recover(h)
	return func(ctx context.Context, e event.Event) (*event.Event, error) {
		inv := &invocation{Tracer: t, function: function, cause: e, begun: time.Now(), id: newSpanID()}
		reply, err := h(context.WithValue(ctx, invocationKey{}, inv), e)
		inv.guard.do(func() { inv.end(reply, err) })
		return reply, err
	}
}

// Reporter tells r everything, and notes the decisions of each invocation for its span.
func (t *Tracer) Reporter(r report.Reporter) report.Reporter {
	if t == nil {
		return r
	}
	return reporter{r}
}

type reporter struct{ report.Reporter }

// Decided implements report.Reporter.
func (r reporter) Decided(ctx context.Context, d report.Decision) {
	if inv, is := ctx.Value(invocationKey{}).(*invocation); is {
		inv.guard.do(func() { inv.note(d) })
	}
	r.Reporter.Decided(ctx, d)
}

func (inv *invocation) note(d report.Decision) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	st := &d.Fence.Status
	attrs := []attribute.KeyValue{
		say("nodefence.phase", string(d.Fence.CurrentPhase())), say("nodefence.reason", string(st.Reason)),
		say("nodefence.policy", st.Decision.Policy.Name), say("nodefence.fence.uid", string(d.Fence.UID)),
	}
	if d.Action != fence.None {
		attrs = append(attrs, say("nodefence.action", string(d.Action)))
	}
	if d.Action.Device() && len(st.Decision.Devices) > 0 {
		attrs = append(attrs, attribute.StringSlice("nodefence.device.drivers", driversOf(st.Decision.Devices)))
	}
	if st.Outcome != "" {
		attrs = append(attrs, say("nodefence.outcome", string(st.Outcome)))
	}
	before := d.Before.Phase
	if d.Before.FenceNumber != st.FenceNumber || before == "" {
		before = api.Pending // it is opened
	} else if st.Phase == api.Finished && before != api.Finished {
		inv.ended = append(inv.ended, *d.Fence.DeepCopy())
	}
	inv.decided = append(inv.decided, decision{at: time.Now(), of: Of(d.Fence), phase: before, attrs: attrs, err: d.Err})
}

func driversOf(devices []api.Binding) (all []string) {
	for _, d := range devices {
		all = append(all, text(d.Driver))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// end makes the span, has the reply name it, and makes those of the fences that have ended.
func (inv *invocation) end(reply *event.Event, err error) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	parent, links := inv.parent()
	ctx := withID(trace.ContextWithRemoteSpanContext(context.Background(), parent), parent.TraceID(), inv.id)
	if !parent.IsValid() {
		if links == nil {
			return
		}
		ctx = withID(context.Background(), newTraceID(), inv.id)
	}
	_, span := inv.tracer.Start(ctx, inv.name(), trace.WithTimestamp(inv.begun), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(links...), trace.WithAttributes(say("nodefence.function", inv.function)), trace.WithAttributes(ofEvent(inv.cause)...))
	inv.describe(span, err)
	if reply != nil {
		sentBy(reply, span.SpanContext())
		span.SetAttributes(say("nodefence.reply.event_id", reply.ID()))
	}
	span.End()
	for i := range inv.ended {
		inv.whole(&inv.ended[i])
	}
}

// parent is the span that the invocation's own comes under, in the trace of the fence that was decided on or
// else of the one that the event's payload names. traceparent chooses none but the sender within that trace:
// whoever may send an event writes it, and would put spans of nodefence into any trace. A sender of another
// trace is linked to; a span of no fence is then the first of a trace of its own.
func (inv *invocation) parent() (parent trace.SpanContext, links []trace.Link) {
	from := senderOf(inv.cause)
	of, is := namedBy(inv.cause)
	if n := len(inv.decided); n > 0 {
		of, is = inv.decided[n-1].of, true
	}
	if is {
		parent = of.root(inv.cluster)
		if from.TraceID() == parent.TraceID() {
			return from, nil
		}
	}
	if from.IsValid() {
		links = []trace.Link{{SpanContext: from}}
	}
	return parent, links
}

// name is the function's, and the phase in which it found the fence or else what the event says.
func (inv *invocation) name() string {
	if len(inv.decided) > 0 {
		return inv.function + " " + string(inv.decided[0].phase)
	}
	if p, is := events.PhaseOf(inv.cause.Type()); is {
		return inv.function + " " + string(p)
	}
	return text(inv.function + " " + shortType(inv.cause.Type()))
}

// describe puts what was decided into the span: the last of it as attributes, each as an event.
func (inv *invocation) describe(span trace.Span, err error) {
	for i, d := range inv.decided {
		attrs := d.attrs
		if d.err != nil {
			attrs = append(attrs, say("error.message", d.err.Error()))
			failed(span, d.err)
		}
		span.AddEvent("decided", trace.WithTimestamp(d.at), trace.WithAttributes(attrs...))
		if i == len(inv.decided)-1 {
			span.SetAttributes(append(attrs, attribute.Int64("nodefence.fence.number", d.of.Number))...)
		}
	}
	if err != nil {
		failed(span, err)
	}
}

// whole is the span over a whole fence, from when it was opened until it ended.
func (inv *invocation) whole(f *api.NodeFence) {
	root, st := Of(f).root(inv.cluster), &f.Status
	opened, ended := inv.begun, time.Now()
	if st.OpenedAt != nil {
		opened = st.OpenedAt.Time
	}
	if st.PhaseSince != nil {
		ended = st.PhaseSince.Time
	}
	_, span := inv.tracer.Start(withID(context.Background(), root.TraceID(), root.SpanID()), "fence", trace.WithNewRoot(),
		trace.WithTimestamp(opened), trace.WithAttributes(
			say("k8s.node.name", f.Spec.NodeName), say("nodefence.fence.uid", string(f.UID)),
			attribute.Int64("nodefence.fence.number", st.FenceNumber), say("nodefence.policy", st.Decision.Policy.Name),
			say("nodefence.trigger", string(st.Decision.Trigger.Type)), say("nodefence.outcome", string(st.Outcome)),
		))
	span.End(trace.WithTimestamp(ended))
}

// ofEvent are the attributes of a span that takes or sends an event.
func ofEvent(e event.Event) []attribute.KeyValue {
	return []attribute.KeyValue{
		say("k8s.node.name", e.Subject()), say("cloudevents.event_id", e.ID()),
		say("cloudevents.event_type", e.Type()), say("cloudevents.event_source", e.Source()),
	}
}

func shortType(t string) string {
	return strings.TrimSuffix(strings.TrimPrefix(t, "io.nodefence."), ".v1")
}
