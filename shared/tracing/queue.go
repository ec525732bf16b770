package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// most is how many spans wait for the collector. A span more is dropped.
const most = 2048

// queue hands spans to the SDK's batches, and counts what becomes of them.
type queue struct {
	sdk.SpanProcessor
	waiting atomic.Int64
	counted *prometheus.CounterVec
}

// newQueue returns an empty queue, whose spans e sends.
func newQueue(e sdk.SpanExporter, log *slog.Logger) *queue {
	q := &queue{counted: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nodefence_spans_total", Help: "Spans by what became of them: sent to the collector, refused by it, or dropped. None while traces are off.",
	}, []string{"result"})}
	for _, result := range []string{"sent", "refused", "dropped"} {
		q.counted.WithLabelValues(result)
	}
	counting := &exporter{SpanExporter: e, queue: q, log: log}
	q.SpanProcessor = sdk.NewBatchSpanProcessor(counting, sdk.WithMaxQueueSize(most), sdk.WithExportTimeout(uploadTimeout))
	return q
}

// OnEnd takes a span that has ended, and never waits.
func (q *queue) OnEnd(s sdk.ReadOnlySpan) {
	if q.waiting.Add(1) > most {
		q.gone("dropped", 1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// gone counts spans that do not wait any more.
func (q *queue) gone(result string, n int) {
	q.waiting.Add(int64(-n))
	q.counted.WithLabelValues(result).Add(float64(n))
}

// exporter sends batches, counts them, and logs when they begin to be lost.
type exporter struct {
	sdk.SpanExporter
	queue *queue
	log   *slog.Logger
	mu    sync.Mutex
	// said is what was logged of the batch before; empty if the collector took it.
	said string
}

// ExportSpans implements the SDK's SpanExporter. It returns no error: what fails is counted and
// logged here.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	lost, result, says := 0, "dropped", ""
	if refused, partly := rejected(err); partly {
		lost, result, says = min(refused, len(spans)), "refused", "the collector does not take all spans as they are; no fence waits for it"
	} else if err != nil {
		lost, says = len(spans), "spans are lost until the collector takes them; no fence waits for it"
	}
	e.queue.gone("sent", len(spans)-lost)
	e.queue.gone(result, lost)
	e.mu.Lock()
	defer e.mu.Unlock()
	if says != "" && says != e.said {
		e.log.Warn(says, "error", text(withoutURL(err).Error()))
	} else if says == "" && e.said != "" {
		e.log.Info("the collector takes spans again")
	}
	e.said = says
	return nil
}

// partialSuccess is the end of otlptracehttp's error for a request that the collector took in part. The
// type of that error is internal to OpenTelemetry.
var partialSuccess = regexp.MustCompile(`OTLP partial success: (?s:.*) \((-?\d+) spans rejected\)$`)

// rejected returns how many spans of a request the collector rejects, and whether it took the request.
func rejected(err error) (n int, partly bool) {
	if err == nil {
		return 0, false
	}
	found := partialSuccess.FindStringSubmatch(err.Error())
	if found == nil {
		return 0, false
	}
	n, _ = strconv.Atoi(found[1]) // the largest int where the number is larger
	return max(n, 0), true
}

// withoutURL returns what an HTTP client's error says beside its URL, whose path may hold a token.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
