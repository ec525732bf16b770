package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheCoresArePure: what they decide depends on what they are given and on nothing else.
func TestTheCoresArePure(t *testing.T) { // S30
	var files []string
	for _, core := range slices.Concat(slices.Collect(maps.Keys(cores)), walks) {
		of, err := filepath.Glob("../../" + core + "/*.go")
		if err != nil || len(of) == 0 {
			t.Fatal("no files of ", core, err)
		}
		files = append(files, of...)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range impure(f) {
			t.Errorf("%s uses %s: it is to be handed in", filepath.Base(path), what)
		}
	}
}

// impure is what a file takes from the machine on which it runs.
func impure(f *ast.File) (all []string) {
	clock := "" // how the file calls package time
	for _, i := range f.Imports {
		switch path := strings.Trim(i.Path.Value, "\""); path {
		case "context", "os":
			all = append(all, "package "+path)
		case "time":
			if clock = "time"; i.Name != nil {
				clock = i.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			if ok && x.Name == clock && slices.Contains([]string{"Now", "Since", "Until", "LoadLocation", "Local"}, s.Sel.Name) {
				all = append(all, "time."+s.Sel.Name)
			}
		}
		return true
	})
	return all
}
