package tracing

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/run"
)

// TestWhatIsWrongIsSaidAtStart, with the variable's name, and without what may be a secret.
func TestWhatIsWrongIsSaidAtStart(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	must(t, os.WriteFile(none, []byte("x"), 0o600))
	const all, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
		off  bool
	}{
		"nothing is set":     {off: true},
		"an endpoint":        {env: map[string]string{all + "ENDPOINT": "http://c:4318"}},
		"one for traces":     {env: map[string]string{traces + "ENDPOINT": "https://c/x", all + "ENDPOINT": "unread"}},
		"switched off":       {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, off: true},
		"no URL":             {env: map[string]string{all + "ENDPOINT": "c:4318"}, want: `read OTEL_EXPORTER_OTLP_ENDPOINT: "c:4318" is not an http or https URL`},
		"no URL for traces":  {env: map[string]string{traces + "ENDPOINT": "grpc://c"}, want: `read OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "grpc://c" is not an http or https URL`},
		"gRPC":               {env: map[string]string{all + "ENDPOINT": "http://c:4317", all + "PROTOCOL": "grpc"}, want: `read OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not sent by nodefence: set http/protobuf, and a port that takes it, such as 4318`},
		"the known protocol": {env: map[string]string{all + "ENDPOINT": "http://c:4318", traces + "PROTOCOL": "http/protobuf"}},
		"headers":            {env: map[string]string{all + "ENDPOINT": "http://c:4318", all + "HEADERS": "a=b, c=d%20e,"}},
		"no header":          {env: map[string]string{all + "ENDPOINT": "http://c:4318", all + "HEADERS": "secret"}, want: "read OTEL_EXPORTER_OTLP_HEADERS: want name=value by commas, each value percent-encoded"},
		"no certificate":     {env: map[string]string{all + "ENDPOINT": "https://c", all + "CERTIFICATE": none}, want: "read OTEL_EXPORTER_OTLP_CERTIFICATE: " + none + " has no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			var s struct{ Traces Settings }
			must(t, run.Environment(&s))
			got, err := New(t.Context(), s.Traces, "x", source, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
			t.Cleanup(got.Close)
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want || (got == nil) != (c.off || c.want != "") {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
