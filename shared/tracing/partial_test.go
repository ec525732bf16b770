package tracing

import (
	"math"
	"net/http"
	"strings"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

const protobuf = "application/x-protobuf"

// response is what a collector answers, with a field that its type does not have.
func response(rejected int64, message string) []byte {
	in := &coltracepb.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: message}
	in.ProtoReflect().SetUnknown(protowire.AppendFixed64(protowire.AppendTag(nil, 9, protowire.Fixed64Type), 7))
	answer, err := proto.Marshal(&coltracepb.ExportTraceServiceResponse{PartialSuccess: in})
	if err != nil {
		panic(err)
	}
	return answer
}

// TestWhatTheCollectorTookInPart is counted as it says, and said once until it takes all again.
func TestWhatTheCollectorTookInPart(t *testing.T) {
	for name, c := range map[string]struct {
		typ                    string
		answer                 []byte
		sent, refused, dropped float64
		says                   string
	}{
		"all":                     {protobuf, nil, 6, 0, 0, ""},
		"an empty message":        {protobuf, response(0, ""), 6, 0, 0, ""},
		"one of three":            {protobuf, response(1, "too old"), 4, 2, 0, "too old (1 spans rejected)"},
		"none":                    {protobuf, response(3, "full"), 0, 6, 0, "full (3 spans rejected)"},
		"more than were sent":     {protobuf, response(9, "full"), 0, 6, 0, "full (9 spans rejected)"},
		"more than an int32":      {protobuf, response(math.MaxInt64, "full"), 0, 6, 0, "full (9223372036854775807 spans rejected)"},
		"less than none":          {protobuf, response(-1, "full"), 6, 0, 0, "full (-1 spans rejected)"},
		"all, and it warns":       {protobuf, response(0, "slow down"), 6, 0, 0, "slow down (0 spans rejected)"},
		"a message with a figure": {protobuf, response(1, "a\nb (3 spans rejected)"), 4, 2, 0, "b (3 spans rejected) (1 spans rejected)"},
		"a message of a page":     {protobuf, response(1, strings.Repeat("x", 1<<16)), 4, 2, 0, "OTLP partial success: xxx"},
		"JSON":                    {"application/json", []byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`), 4, 2, 0, "too old (1 spans rejected)"},
		"text":                    {"text/plain", []byte("thank you"), 6, 0, 0, ""},
		"an answer that is cut":   {protobuf, response(1, "too old")[:1], 0, 0, 6, "spans are lost"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := c.answer
			r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.typ)
				_, _ = w.Write(answer)
			}))
			h := r.deciding("gate", api.NodeFenceStatus{}, at(api.Pending))
			send := func() {
				for range 3 {
					_ = r.call(h, unhealthy())
				}
				r.Flush(t.Context())
			}
			send()
			send()
			if s, f, d := counter(t, r, "sent"), counter(t, r, "refused"), counter(t, r, "dropped"); s != c.sent || f != c.refused || d != c.dropped {
				t.Errorf("%v sent, %v refused, %v dropped", s, f, d)
			}
			if log := r.log.String(); strings.Count(log, "level=WARN") != min(1, len(c.says)) || !strings.Contains(log, c.says) || len(log) > 2*textBytes {
				t.Error(log)
			}
			answer = nil
			send()
			if again := strings.Count(r.log.String(), "takes spans again"); again != min(1, len(c.says)) || counter(t, r, "sent") != c.sent+3 {
				t.Errorf("%v sent: %s", counter(t, r, "sent"), r.log)
			}
		})
	}
}
