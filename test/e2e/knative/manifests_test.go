package knative

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/nodefence/nodefence/test/e2e/knative/plane"
	"github.com/nodefence/nodefence/test/rig"
)

// serving is where the kind of Knative Services comes from.
const serving = "knative.dev/serving@v0.48.1"

// TestManifestsAreAccepted: every overlay builds, and the API server takes each of
// its objects, with Knative's own kinds.
func TestManifestsAreAccepted(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline(t))
	t.Cleanup(cancel)
	lab, err := rig.Up(ctx, rig.LabOptions{Name: fmt.Sprintf("%s%d-%d", labPrefix, os.Getpid(), labs.Add(1)), Nodes: 1})
	must(t, err)
	t.Cleanup(func() { must(t, lab.Down()) })
	c, err := rig.Connect(lab)
	must(t, err)
	c.Config.WarningHandler = rest.NoWarnings{}
	must(t, plane.Install(ctx, c))
	must(t, c.ApplyFile(ctx, servingKind(t)))
	must(t, c.Install(ctx))
	root, err := rig.Root()
	must(t, err)
	for _, folder := range []string{"overlays/deployments", "overlays/serving", "overlays/kafka", "components/authentication"} {
		t.Run(folder, func(t *testing.T) {
			m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "infra/knative", folder))
			must(t, err)
			text, err := m.AsYaml()
			must(t, err)
			must(t, c.Apply(ctx, string(text)))
			t.Logf("%d objects", m.Size())
		})
	}
}

// servingKind is the file that defines Knative Services.
func servingKind(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", serving).Output()
	must(t, err)
	var m struct{ Dir string }
	must(t, json.Unmarshal(out, &m))
	return filepath.Join(m.Dir, "config/core/300-resources/service.yaml")
}
