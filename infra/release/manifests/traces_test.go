package manifests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePatchesSetTracesEverywhere: what infra/observability/README.md has for an overlay of a user
// reaches every function and the source, on each platform.
func TestThePatchesSetTracesEverywhere(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("../../observability/README.md")
	must(err)
	_, patches, is := strings.Cut(string(page), "\n    patches:\n")
	if !is {
		t.Fatal("README.md has no patches")
	}
	own, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	for _, platform := range []string{"deployments", "serving"} {
		overlay, err := filepath.Abs("../../knative/overlays/" + platform)
		must(err)
		from := filepath.Join(own, platform)
		must(os.Mkdir(from, 0o700))
		to, err := filepath.Rel(from, overlay)
		must(err)
		text := "resources: [" + to + "]\npatches:\n"
		for l := range strings.Lines(patches) {
			code, is := strings.CutPrefix(l, "    ")
			if !is {
				break
			}
			text += code
		}
		must(os.WriteFile(filepath.Join(from, "kustomization.yaml"), []byte(text), 0o600))
		all, err := Source{}.build(from)
		must(err)
		n := 0
		for _, o := range all {
			id := ID(o)
			if !strings.Contains(id, "apps/v1/Deployment/") && !strings.Contains(id, "serving.knative.dev/v1/Service/") {
				continue
			}
			n++
			raw, err := json.Marshal(o.Object)
			must(err)
			if !strings.Contains(string(raw), `"OTEL_EXPORTER_OTLP_ENDPOINT"`) {
				t.Errorf("%s: no endpoint in %s", platform, id)
			}
		}
		if n < 10 {
			t.Errorf("%s: %d programs", platform, n)
		}
	}
}
