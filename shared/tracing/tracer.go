package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodefence/nodefence/events"
)

// Tracer makes spans. A nil one makes none, and changes nothing.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	// cluster is the source of nodefence's own events, by which two clusters' traces differ.
	cluster string
	// guard runs all work on spans that is beside the handling of an event.
	guard *guard
}

// New returns nil where the settings ask for no traces, and where they cannot be used: no fence waits
// for traces. fault then says for /readyz which variable is wrong and what to do; the log has it as an
// error. program is the service's name unless OTEL_SERVICE_NAME says another.
func New(ctx context.Context, s Settings, program string, source events.Source, log *slog.Logger, reg prometheus.Registerer) (t *Tracer, fault string) {
	if !s.On() {
		return nil, ""
	}
	t, err := begin(ctx, s, program, source, log, reg)
	if err != nil {
		log.Error("traces are off; no fence waits for them", "error", err.Error())
		return nil, "traces are off: " + err.Error()
	}
	return t, ""
}

func begin(ctx context.Context, s Settings, program string, source events.Source, log *slog.Logger, reg prometheus.Registerer) (*Tracer, error) {
	c, err := s.collector(ctx)
	if err != nil {
		return nil, err
	}
	keeps, err := s.sampler()
	if err != nil {
		return nil, err
	}
	r, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", program)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, errors.New("read OTEL_RESOURCE_ATTRIBUTES: want name=value by commas, each value percent-encoded")
	}
	for _, a := range r.Attributes() {
		if !utf8.ValidString(string(a.Key) + a.Value.String()) { // no batch could be sent
			return nil, errors.New("read OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME: want texts in UTF-8")
		}
	}
	q := newQueue(c, log)
	if err := reg.Register(q.counted); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	p := sdk.NewTracerProvider(sdk.WithResource(r), sdk.WithSampler(keeps), sdk.WithSpanProcessor(q), sdk.WithIDGenerator(ids{}), sdk.WithRawSpanLimits(limits()))
	g := &guard{log: log, dropped: q.counted.WithLabelValues("dropped")}
	return &Tracer{provider: p, tracer: p.Tracer("github.com/nodefence/nodefence"), cluster: string(source), guard: g}, nil
}

// flushTimeout bounds the wait for the collector where a process ends, or stands still until its
// next invocation.
const flushTimeout = time.Second

// Flush sends what waits, within a second and until ctx ends. What it has begun to send, and cannot send
// by then, is dropped and counted.
func (t *Tracer) Flush(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	_ = t.provider.ForceFlush(ctx) // what is lost is counted
}

// Close sends what waits, within a second, and ends the tracer. What is not sent then is dropped.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx)
}

// senderOf is the span that sent an event, if the event names one, without its tracestate and without its
// flags: the sampler alone says which traces are kept (sampler.go).
func senderOf(e event.Event) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), extensions{&e})
	return trace.SpanContextFromContext(ctx).WithTraceFlags(trace.FlagsSampled)
}

// sentBy notes in an event which span has sent it.
func sentBy(e *event.Event, s trace.SpanContext) {
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), s), extensions{e})
}

// extensions are an event's, in the form in which OpenTelemetry reads and writes headers.
type extensions struct{ *event.Event }

// Get implements propagation.TextMapCarrier. A tracestate is not read: it is for the systems of whoever
// wrote it, and may have many KiB.
func (x extensions) Get(key string) string {
	if key != events.TraceParent {
		return ""
	}
	value, _ := x.Extensions()[key].(string)
	return value
}

// Set implements propagation.TextMapCarrier.
func (x extensions) Set(key, value string) { x.SetExtension(key, value) }

// Keys implements propagation.TextMapCarrier.
func (x extensions) Keys() (all []string) {
	for key := range x.Extensions() {
		all = append(all, key)
	}
	return all
}
