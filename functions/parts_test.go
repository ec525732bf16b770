package functions

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/kube/kubetest"
	"github.com/nodefence/nodefence/shared/tracing"
)

// TestTheMetadataServerIsThatOfTheSettings: tests need this to replace it.
func TestTheMetadataServerIsThatOfTheSettings(t *testing.T) {
	asked := ""
	srv := kubetest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		kubetest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	}))
	in := DriversIn(kubetest.Client(t, http.NotFoundHandler()), Settings{GCEMetadata: strings.TrimPrefix(srv.Host, "http://")})
	d, err := in["gce"].Open(map[string]string{"project": "my-project", "zone": "europe-west1-b", "instance": "worker-7"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.State(t.Context()); !errors.Is(err, device.ErrDenied) || asked != "/computeMetadata/v1/instance/service-accounts/default/token" {
		t.Errorf("asked for %q: %v", asked, err)
	}
}

// TestNoFenceWaitsForTraces: settings of traces that cannot be used stop nothing, and /readyz says so.
func TestNoFenceWaitsForTraces(t *testing.T) {
	s := Settings{Cluster: "c", Traces: tracing.Settings{Endpoint: "http://127.0.0.1:1", Protocol: "grpc"}}
	p, err := NewParts(t.Context(), s, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil || p.Traces != nil {
		t.Fatal(p.Traces, err)
	}
	if got := p.Detail(); !strings.HasPrefix(got, "traces are off: read OTEL_EXPORTER_OTLP_PROTOCOL: ") {
		t.Errorf("/readyz says %q", got)
	}
}
