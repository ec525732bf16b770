package tracing

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodefence/nodefence/shared/run"
)

// TestWhatIsWrongIsSaidAtStart, with the variable's name, and without what may be a secret. The program
// goes on without traces.
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
		"no URL":             {env: map[string]string{all + "ENDPOINT": "c:4318"}, want: "read OTEL_EXPORTER_OTLP_ENDPOINT: want an http or https URL, such as http://collector:4318"},
		"a key in no URL":    {env: map[string]string{all + "ENDPOINT": "https//c/?key=secret"}, want: "read OTEL_EXPORTER_OTLP_ENDPOINT: want an http or https URL, such as http://collector:4318"},
		"a key in a query":   {env: map[string]string{all + "ENDPOINT": "https://c/?key=secret"}, want: "read OTEL_EXPORTER_OTLP_ENDPOINT: want a URL without user and query: give a key in OTEL_EXPORTER_OTLP_HEADERS"},
		"a key as user":      {env: map[string]string{traces + "ENDPOINT": "https://secret@c/"}, want: "read OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: want a URL without user and query: give a key in OTEL_EXPORTER_OTLP_HEADERS"},
		"no URL for traces":  {env: map[string]string{traces + "ENDPOINT": "grpc://c"}, want: "read OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: want an http or https URL, such as http://collector:4318"},
		"gRPC":               {env: map[string]string{all + "ENDPOINT": "http://c:4317", all + "PROTOCOL": "grpc"}, want: `read OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not sent by nodefence: set http/protobuf, and a port that takes it, such as 4318`},
		"the known protocol": {env: map[string]string{all + "ENDPOINT": "http://c:4318", traces + "PROTOCOL": "http/protobuf"}},
		"headers":            {env: map[string]string{all + "ENDPOINT": "http://c:4318", all + "HEADERS": "a=b, c=d%20e,"}},
		"no header":          {env: map[string]string{all + "ENDPOINT": "http://c:4318", all + "HEADERS": "secret"}, want: "read OTEL_EXPORTER_OTLP_HEADERS: want name=value by commas, each value percent-encoded"},
		"no certificate":     {env: map[string]string{all + "ENDPOINT": "https://c", all + "CERTIFICATE": none}, want: "read OTEL_EXPORTER_OTLP_CERTIFICATE: " + none + " has no certificate in PEM: name a file of certificates in PEM that this process can read"},
		"no file":            {env: map[string]string{all + "ENDPOINT": "https://c", traces + "CERTIFICATE": none + "x"}, want: "read OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: open " + none + "x: no such file or directory: name a file of certificates in PEM that this process can read"},
		"no attributes":      {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_RESOURCE_ATTRIBUTES": "secret"}, want: "read OTEL_RESOURCE_ATTRIBUTES: want name=value by commas, each value percent-encoded"},
		"no UTF-8":           {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_RESOURCE_ATTRIBUTES": "a=%ff"}, want: "read OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME: want texts in UTF-8"},
		"a sampler":          {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": " 0.1"}},
		"no sampler":         {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_TRACES_SAMPLER": "jaeger_remote"}, want: `read OTEL_TRACES_SAMPLER: "jaeger_remote" is not known to nodefence: set always_on, always_off, traceidratio, or parentbased_ before one of these`},
		"only half a name":   {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_TRACES_SAMPLER": "parentbased_"}, want: `read OTEL_TRACES_SAMPLER: "parentbased_" is not known to nodefence: set always_on, always_off, traceidratio, or parentbased_ before one of these`},
		"a percentage":       {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "10"}, want: `read OTEL_TRACES_SAMPLER_ARG: "10" is no part of all traces: set a number from 0 to 1, such as 0.1`},
		"not a number":       {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "NaN"}, want: `read OTEL_TRACES_SAMPLER_ARG: "NaN" is no part of all traces: set a number from 0 to 1, such as 0.1`},
		"True is true":       {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "True"}, off: true},
		"yes is false":       {env: map[string]string{all + "ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			var s struct{ Traces Settings }
			must(t, run.Environment(&s))
			var log bytes.Buffer
			got, fault := New(t.Context(), s.Traces, "x", source, slog.New(slog.NewJSONHandler(&log, nil)), prometheus.NewRegistry())
			t.Cleanup(got.Close)
			want := ""
			if c.want != "" {
				want = "traces are off: " + c.want
			}
			if fault != want || (got == nil) != (c.off || c.want != "") {
				t.Errorf("got %v, %q", got, fault)
			}
			var said struct{ Level, Error string }
			if _ = json.Unmarshal(log.Bytes(), &said); said.Error != c.want || (said.Level == "ERROR") != (c.want != "") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}
