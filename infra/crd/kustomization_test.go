package crd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestTheKustomizationIsItsFiles, unchanged and without exception, so that what the labs'
// API server takes file by file is what `kubectl apply -k infra/crd` sends. The ledger is
// not among them: its kind must be served first.
func TestTheKustomizationIsItsFiles(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return f == "kustomization.yaml" })
	raw, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.UnmarshalStrict(raw, &got); err != nil {
		t.Fatal(err)
	}
	listed, _ := got["resources"].([]any)
	delete(got, "resources")
	if d := cmp.Diff(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}, got); d != "" {
		t.Error(d)
	}
	var names []string
	for _, r := range listed {
		names = append(names, r.(string))
	}
	slices.Sort(names)
	if d := cmp.Diff(files, names); d != "" || len(files) < 8 {
		t.Errorf("files of infra/crd (-), resources (+): %s", d)
	}
}
