package tracing

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodefence/nodefence/shared/clip"
)

// textBytes bounds each text of a span. Whoever may send an event chooses some of them, and
// thousands of spans wait while the collector is slow.
const textBytes = 256

// text is what a span says of a text that somebody else wrote: its beginning, in UTF-8. One byte
// that is none would lose the whole batch.
func text(s string) string { return strings.ToValidUTF8(clip.To(textBytes, s), "?") }

// say is an attribute with a text.
func say(key, value string) attribute.KeyValue { return attribute.String(key, text(value)) }

// failed notes in a span that it ended with an error.
func failed(span trace.Span, err error) { span.SetStatus(codes.Error, text(err.Error())) }

// limits are the SDK's own for one span, with a bound for each value of an attribute.
func limits() sdk.SpanLimits {
	l := sdk.NewSpanLimits()
	if l.AttributeValueLengthLimit <= 0 || l.AttributeValueLengthLimit > textBytes {
		l.AttributeValueLengthLimit = textBytes
	}
	return l
}
