package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nodefence/nodefence/infra/release/manifests"
)

// TestSettingsThatMoveNoRights are refused, with the value that does move them.
func TestSettingsThatMoveNoRights(t *testing.T) {
	c := loaded(t)
	for name, instead := range map[string]string{
		"NODEFENCE_NAMESPACE":         "set namespaces.system",
		"NODEFENCE_SECRETS_NAMESPACE": "set namespaces.devices",
		"NODEFENCE_CHECKS_NAMESPACE":  "set namespaces.checks",
		"NODEFENCE_JOBS_NAMESPACE":    "the chart has nodefence-jobs and no other",
	} {
		for _, part := range []string{"all", "gate", "adopt"} {
			_, err := render(c, "default", "settings: {"+part+": {"+name+": elsewhere}}")
			if err == nil || !strings.Contains(err.Error(), "settings."+part+"."+name) || !strings.Contains(err.Error(), instead) {
				t.Errorf("%s of %s: got %v, want %q", name, part, err, instead)
			}
		}
	}
}

// TestFarIsAlwaysAsked: whichever namespaces count for FenceRequests, that of FenceAgentsRemediations
// is among them where it must be, once.
func TestFarIsAlwaysAsked(t *testing.T) {
	c := loaded(t)
	const far = "components: {far: {enabled: true, namespace: medik8s}}\n"
	for values, want := range map[string]string{
		far:                                 "nodefence-system,medik8s",
		far + "namespaces: {system: fence}": "fence,medik8s",
		far + "settings: {all: {NODEFENCE_REQUEST_NAMESPACES: \"a, b\"}}":                                   "a,b,medik8s",
		far + "settings: {all: {NODEFENCE_REQUEST_NAMESPACES: \"medik8s,a\"}}":                              "medik8s,a",
		far + "settings: {all: {NODEFENCE_REQUEST_NAMESPACES: \"\"}}":                                       "medik8s",
		"components: {far: {namespace: medik8s}}\nsettings: {all: {NODEFENCE_REQUEST_NAMESPACES: \"a,b\"}}": "a,b",
	} {
		got, err := render(c, "default", values)
		must(t, err)
		for _, part := range []string{"adopt", "gate", "isolate", "power", "request", "resync", "source"} {
			if part == "adopt" && !strings.HasPrefix(values, far) {
				continue
			}
			if got := variable(got, part, "NODEFENCE_REQUEST_NAMESPACES"); got != want {
				t.Errorf("%s: %s has %q, want %q", values, part, got, want)
			}
		}
	}
}

// TestOpenTelemetrysOwnSettings are settings too, and those of Lambda are none: in a cluster nothing
// reads them.
func TestOpenTelemetrysOwnSettings(t *testing.T) {
	c := loaded(t)
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"} {
		got, err := render(c, "default", "settings: {all: {"+name+": x}}")
		if err != nil || variable(got, "gate", name) != "x" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"NODEFENCE_METRICS", "NODEFENCE_BUS"} {
		if _, err := render(c, "default", "settings: {all: {"+name+": emf}}"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// variable is what a part's pods find in their environment; empty without it.
func variable(objects []manifests.Object, part, name string) string {
	for _, o := range objects {
		labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
		if labels["nodefence.io/function"] != part {
			continue
		}
		env, _ := environment(o)
		for _, e := range env {
			if m := e.(map[string]any); m["name"] == name {
				value, _ := m["value"].(string)
				return value
			}
		}
	}
	return ""
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	must(t, err)
	return text
}
