package observability

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePatchesSetTracesEverywhere: what README.md has for an overlay of a user reaches every function
// and the source, on each platform.
func TestThePatchesSetTracesEverywhere(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is missing")
	}
	_, patches, is := strings.Cut(read(t, "README.md"), "\n    patches:\n")
	if !is {
		t.Fatal("README.md has no patches")
	}
	own, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, platform := range []string{"deployments", "serving"} {
		overlay, err := filepath.Abs("../knative/overlays/" + platform)
		must(t, err)
		from := filepath.Join(own, platform)
		must(t, os.Mkdir(from, 0o700))
		to, err := filepath.Rel(from, overlay)
		must(t, err)
		text := "resources: [" + to + "]\npatches:\n"
		for l := range strings.Lines(patches) {
			code, is := strings.CutPrefix(l, "    ")
			if !is {
				break
			}
			text += code
		}
		must(t, os.WriteFile(filepath.Join(from, "kustomization.yaml"), []byte(text), 0o600))
		all, err := exec.Command("kubectl", "kustomize", from).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", platform, err, all)
		}
		n := 0
		for object := range strings.SplitSeq(string(all), "\n---\n") {
			if !strings.Contains(object, "apiVersion: apps/v1\nkind: Deployment\n") && !strings.Contains(object, "apiVersion: serving.knative.dev/v1\nkind: Service\n") {
				continue
			}
			n++
			if !strings.Contains(object, "- name: OTEL_EXPORTER_OTLP_ENDPOINT\n") {
				t.Errorf("%s: no endpoint in\n%.200s", platform, object)
			}
		}
		if n < 10 {
			t.Errorf("%s: %d programs", platform, n)
		}
	}
}
