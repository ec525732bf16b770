package tracing

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"

	"github.com/nodefence/nodefence/shared/run"
	"github.com/nodefence/nodefence/test/spans"
)

// sendOne sends a span of node a, and waits until it is sent or lost.
func sendOne(t *testing.T, to *Tracer) {
	t.Helper()
	must(t, to.Sender("source", &kept{}, func(string) (Fence, bool) { return Fence{Node: "a"}, true }).Send(t.Context(), unhealthy()))
	to.Flush(t.Context())
}

// begun is a tracer by the environment.
func begun(t *testing.T, log *slog.Logger) *Tracer {
	t.Helper()
	var read struct{ Traces Settings }
	must(t, run.Environment(&read))
	tracer, fault := New(t.Context(), read.Traces, "x", source, log, prometheus.NewRegistry())
	if fault != "" {
		t.Fatal(fault)
	}
	t.Cleanup(tracer.Close)
	return tracer
}

// TestARedirectIsNotFollowed: what is sent holds a token, and goes to the URL of the settings only.
func TestARedirectIsNotFollowed(t *testing.T) {
	asked := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("X-Key") }))
	defer other.Close()
	r := newRig(t, http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	sendOne(t, r.Tracer)
	select {
	case key := <-asked:
		t.Errorf("another server was asked, with header %q", key)
	default:
	}
	if n, log := counter(t, r, "dropped"), r.log.String(); n != 1 || !strings.Contains(log, "the collector answered 307 Temporary Redirect") {
		t.Errorf("%v spans are dropped: %s", n, log)
	}
}

// TestNoSecretIsLogged, neither a key that the collector repeats, nor a token in the URL's path, nor what
// OpenTelemetry cannot read of a variable that another one overrides.
func TestNoSecretIsLogged(t *testing.T) {
	var log bytes.Buffer
	otel.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(&log, prefix, args) }, funcr.Options{}))
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c/%zz/secret")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=secret")
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such key: "+r.Header.Get("X-Key"), http.StatusUnauthorized)
	}))
	defer refuses.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, collector := range []*httptest.Server{refuses, gone} {
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.URL+"/secret")
		sendOne(t, begun(t, slog.New(slog.NewTextHandler(&log, nil))))
	}
	if said := log.String(); strings.Contains(said, "secret") || !strings.Contains(said, "the collector answered 401 Unauthorized") || !strings.Contains(said, "connection refused") {
		t.Error(said)
	}
}

// TestACollectorIsTrustedByItsCertificate, and one without TLS needs none.
func TestACollectorIsTrustedByItsCertificate(t *testing.T) {
	var r spans.Receiver
	secure, plain := httptest.NewTLSServer(&r), httptest.NewServer(&r)
	defer secure.Close()
	defer plain.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", file)
	for _, url := range []string{secure.URL, plain.URL} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
		sendOne(t, begun(t, slog.New(slog.DiscardHandler)))
	}
	if n := len(r.All()); n != 2 {
		t.Errorf("%d spans came, %v", n, r.Wrong())
	}
}
