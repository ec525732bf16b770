package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// TestKdumpMaySend to a Broker with authentication, by an overlay and by Helm: as its own account, and
// as its SinkBinding, whose token it has. Without the component nobody of that namespace may.
func TestKdumpMaySend(t *testing.T) {
	c := loaded(t)
	for on, want := range map[string]int{"true": 2, "false": 0} {
		byHelm, err := render(c, "default", "components: {authentication: {enabled: true}, kdump: {enabled: "+on+"}}")
		must(t, err)
		components := []string{"authentication"}
		if on == "true" {
			components = append(components, "kdump")
		}
		byOverlay, err := source.Platform("deployments", components...)
		must(t, err)
		for way, objects := range map[string][]manifests.Object{"Helm": byHelm, "kustomize": byOverlay} {
			n := 0
			for _, from := range senders(objects) {
				switch {
				case from["sub"] == "system:serviceaccount:nodefence-kdump:nodefence-kdump":
					n++
				case cmp.Equal(from["ref"], any(map[string]any{"apiVersion": "sources.knative.dev/v1", "kind": "SinkBinding", "name": "nodefence-kdump", "namespace": "nodefence-kdump"})):
					n++
				}
			}
			if n != want {
				t.Errorf("kdump %s, by %s: %d senders of it, want %d: %v", on, way, n, want, senders(objects))
			}
		}
	}
}

// senders are those that the EventPolicy lets send.
func senders(objects []manifests.Object) (all []map[string]any) {
	for _, o := range objects {
		if o.GetKind() == "EventPolicy" {
			from, _, _ := unstructured.NestedSlice(o.Object, "spec", "from")
			for _, f := range from {
				all = append(all, f.(map[string]any))
			}
		}
	}
	return all
}

// TestMonitoringLabels are on what the Prometheus operator reads and on nothing else, beside
// nodefence's own.
func TestMonitoringLabels(t *testing.T) {
	c := loaded(t)
	const values = "podMonitor: true\nprometheusRule: true\n"
	plain, err := render(c, "default", values)
	must(t, err)
	got, err := render(c, "default", values+"monitoringLabels: {release: prom, app.kubernetes.io/part-of: other}")
	must(t, err)
	n := 0
	for _, o := range plain {
		if o.GetKind() == "PodMonitor" || o.GetKind() == "PrometheusRule" {
			n++
			o.SetLabels(map[string]string{"release": "prom", "app.kubernetes.io/part-of": "nodefence"})
		}
	}
	if d := cmp.Diff(byID(t, plain), byID(t, got)); d != "" || n != 2 {
		t.Errorf("%d objects to label; want (-), got (+):\n%s", n, d)
	}
}
