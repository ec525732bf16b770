package tracing

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// response is an ExportTraceServiceResponse, with a field that this program does not know.
func response(rejected int64, message string) []byte {
	in := protowire.AppendFixed64(protowire.AppendTag(nil, 9, protowire.Fixed64Type), 7)
	in = protowire.AppendVarint(protowire.AppendTag(in, 1, protowire.VarintType), uint64(rejected))
	in = protowire.AppendString(protowire.AppendTag(in, 2, protowire.BytesType), message)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), in)
}

// TestWhatTheCollectorTookInPart is counted as it says, and said once until it takes all again.
func TestWhatTheCollectorTookInPart(t *testing.T) {
	for name, c := range map[string]struct {
		typ           string
		answer        []byte
		sent, refused float64
		says          string
	}{
		"all":                     {protobuf, nil, 6, 0, ""},
		"an empty message":        {protobuf, response(0, ""), 6, 0, ""},
		"two of three":            {protobuf, response(1, "too old"), 4, 2, "the collector refused 1 spans: too old"},
		"none":                    {protobuf, response(3, "full"), 0, 6, "the collector refused 3 spans: full"},
		"more than were sent":     {protobuf, response(9, "full"), 0, 6, "the collector refused 9 spans: full"},
		"less than none":          {protobuf, response(-1, "full"), 0, 6, "spans: full"},
		"all, and it warns":       {protobuf, response(0, "slow down"), 6, 0, "the collector took the spans, and warns: slow down"},
		"an answer that is cut":   {protobuf, response(1, "too old")[:1], 6, 0, ""},
		"an answer in other form": {"application/json", response(1, "too old"), 6, 0, ""},
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
			if s, f, d := counter(t, r, "sent"), counter(t, r, "refused"), counter(t, r, "dropped"); s != c.sent || f != c.refused || d != 0 {
				t.Errorf("%v sent, %v refused, %v dropped", s, f, d)
			}
			if log := r.log.String(); strings.Count(log, "level=WARN") != min(1, len(c.says)) || !strings.Contains(log, c.says) {
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
