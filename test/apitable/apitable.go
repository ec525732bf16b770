// Package apitable reads the tables of what the API server takes and refuses
// (test/e2e/testdata/api; fencepolicy.yaml there says what a row has).
package apitable

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// Table is one kind's.
type Table struct {
	Kind, Name string
	Plain      map[string]any
	Rows       []Row
}

// Row is one object that is written, and what is said of it; nothing if it is taken.
type Row struct {
	About, Name, Without, Says string
	Spec, Was                  map[string]any
	Admission                  bool
}

// Read reads all tables of a folder.
func Read(t *testing.T, dir string) []Table {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables in %s: %v", dir, err)
	}
	var all []Table
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var one Table
		if err := yaml.UnmarshalStrict(text, &one); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, one)
	}
	return all
}

// Object is a row's, with this spec.
func (t Table) Object(r Row, spec map[string]any) map[string]any {
	whole := maps.Clone(t.Plain)
	delete(whole, r.Without)
	maps.Copy(whole, spec)
	name := t.Name
	if r.Name != "" {
		name = r.Name
	}
	if name == "" {
		name = "a"
	}
	return map[string]any{"apiVersion": "nodefence.io/v1alpha1", "kind": t.Kind, "metadata": map[string]any{"name": name}, "spec": whole}
}

// String names a row in a failure.
func (r Row) String() string { return fmt.Sprintf("%q", r.About) }
