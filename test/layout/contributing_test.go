package layout

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const contributing = "../../CONTRIBUTING.md"

// TestDependenciesAreExplained: each module that go.mod requires itself stands in CONTRIBUTING.md, with
// what it is for.
func TestDependenciesAreExplained(t *testing.T) {
	mod, page := read(t, "../../go.mod"), read(t, contributing)
	_, table, _ := strings.Cut(page, "## Dependencies, and why")
	var named []string
	for l := range strings.Lines(table) {
		if cells := strings.Split(l, "|"); len(cells) > 2 {
			named = append(named, strings.Split(strings.TrimSpace(cells[1]), ", ")...)
		}
	}
	direct, _, _ := strings.Cut(mod, "\n)\n")
	found := regexp.MustCompile(`(?m)^\t(?:github\.com/)?(\S+) v\S+$`).FindAllStringSubmatch(direct, -1)
	if len(found) < 20 {
		t.Fatalf("only %d modules were found in go.mod", len(found))
	}
	for _, m := range found {
		if !within(m[1], named) {
			t.Errorf("CONTRIBUTING.md does not say what %s is for", m[1])
		}
	}
}

// within tells whether a path is one of these, or below one.
func within(path string, these []string) bool {
	for _, p := range these {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// TestFoldersAreExplained: each folder of the first two levels stands in CONTRIBUTING.md's layout.
func TestFoldersAreExplained(t *testing.T) {
	page := read(t, contributing)
	_, layout, _ := strings.Cut(page, "## Layout")
	layout, _, _ = strings.Cut(layout, "## How it works")
	n := 0
	for _, top := range []string{"functions", "sources", "shared", "infra", "test", "docs"} {
		folders, err := os.ReadDir(filepath.Join(root, top))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			if !f.IsDir() {
				continue
			}
			n++
			if !regexp.MustCompile(`(?m)(^|[\s/])` + regexp.QuoteMeta(f.Name()) + `([\s,:;/]|$)`).MatchString(layout) {
				t.Errorf("CONTRIBUTING.md's layout does not name %s/%s", top, f.Name())
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d folders were found", n)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
