package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodefence/nodefence/test/rig"
)

// TestKindsThatAreOlderThanTheProgram: what the API server would drop is refused, and
// the refusal says what to do. An intent that is lost without a word is a second call (S8).
func TestKindsThatAreOlderThanTheProgram(t *testing.T) {
	w := newWorld(t, 1, quick)
	root, err := rig.Root()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(root, "infra/crd/nodefence.io_nodefences.yaml"))
	must(t, err)
	var crd map[string]any
	must(t, yaml.Unmarshal(text, &crd))
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	props := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	for _, of := range []string{"status", "power"} {
		props = props["properties"].(map[string]any)[of].(map[string]any)
	}
	if _, there := props["properties"].(map[string]any)["offError"]; !there {
		t.Fatal("status.power.offError is not in the CRD")
	}
	delete(props["properties"].(map[string]any), "offError")
	older, err := yaml.Marshal(crd)
	must(t, err)
	must(t, w.Apply(w.ctx, string(older)))
	f, err := w.Fences.CreateFence(w.ctx, w.record("node-0"))
	must(t, err)
	w.until("the older kind to be served", func() (bool, error) {
		f.Status.Power.OffError = "x"
		saved, err := w.Fences.SaveStatus(w.ctx, f)
		if err == nil {
			f = saved
			return false, nil
		}
		if m := err.Error(); strings.Contains(m, "older here than this program (kubectl apply -k infra/crd)") && strings.Contains(m, `"status.power.offError"`) {
			return true, nil
		}
		return false, err
	})
}
