// Package apitable reads the tables of what the API server takes and refuses
// (test/e2e/testdata/api; fencepolicy.yaml there says what a row has).
package apitable

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
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

// LeftOut: what a Go client sends that sets a row's fields, and no others, becomes what
// YAML with these fields becomes. The last row sets only what is required. served is the
// spec that an API server makes of an object, or why it refuses it.
func LeftOut(t *testing.T, tables []Table, served func(object map[string]any) (spec map[string]any, err error)) {
	t.Helper()
	kinds := runtime.NewScheme()
	if err := api.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		for _, r := range append(table.Rows, Row{About: "only what is required"}) {
			if r.Says != "" || r.Was != nil {
				continue
			}
			written := table.Object(r, r.Spec)
			typed, err := kinds.New(api.GroupVersion.WithKind(table.Kind))
			if err != nil {
				t.Fatal(err)
			}
			sent := map[string]any{}
			if err := Into(typed, written); err != nil {
				t.Fatal(err)
			}
			if err := Into(&sent, typed); err != nil {
				t.Fatal(err)
			}
			delete(sent, "status")
			yamls, err := served(written)
			if err != nil {
				t.Fatal(err)
			}
			gos, err := served(sent)
			if err != nil {
				t.Errorf("%s, %s, by a Go client: %v", table.Kind, r, err)
				continue
			}
			if d := cmp.Diff(yamls, gos, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s, %s: by YAML (-), by a Go client (+): %s", table.Kind, r, d)
			}
		}
	}
}

// Into copies one value into another, as JSON.
func Into(to, from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
