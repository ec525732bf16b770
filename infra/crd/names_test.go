package crd_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestNoCategoryIsAKindsName: kubectl reads the first word of `get X worker-7` as a
// category before it reads it as a kind, and refuses a name beside several kinds.
func TestNoCategoryIsAKindsName(t *testing.T) {
	names, categories := map[string]string{}, map[string]bool{}
	for _, text := range crdTexts(t) {
		var crd struct {
			Spec struct {
				Names struct {
					Kind, Plural, Singular string
					ShortNames, Categories []string
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		n := crd.Spec.Names
		for _, name := range append(n.ShortNames, n.Plural, n.Singular) {
			if other, twice := names[name]; twice {
				t.Errorf("%s and %s are both called %s", other, n.Kind, name)
			}
			names[name] = n.Kind
		}
		for _, c := range n.Categories {
			categories[c] = true
		}
	}
	for c := range categories {
		if kind := names[c]; kind != "" {
			t.Errorf("category %s is what %s is called", c, kind)
		}
	}
}

// crdTexts are the definitions of all kinds, by file.
func crdTexts(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("nodefence.io_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		if texts[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}
