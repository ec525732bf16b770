package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestNoTwoNamesAreAlike: no two names of a core differ in case alone, or in what they are
// asked of. A rule may have the name of the action that it asks for.
func TestNoTwoNamesAreAlike(t *testing.T) {
	for core := range cores {
		alike, actions := map[string]map[string]bool{}, constantsOf(t, "../../"+core+"/outcome.go")
		eachName(t, "../../"+core, func(name, receiver string) {
			if receiver != "" && receiver != "decision" || actions[name] {
				return
			}
			k := strings.ToLower(name)
			if alike[k] == nil {
				alike[k] = map[string]bool{}
			}
			alike[k][strings.TrimPrefix(receiver+"."+name, ".")] = true
		})
		for _, names := range alike {
			if len(names) > 1 {
				t.Errorf("%s: %v are alike", core, slices.Sorted(maps.Keys(names)))
			}
		}
	}
}

// eachName calls back with each name that a package declares.
func eachName(t *testing.T, dir string, with func(name, receiver string)) {
	t.Helper()
	for _, path := range sources(t, dir) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				of := ""
				if x.Recv != nil {
					of = receiver(x)
				}
				with(x.Name.Name, of)
			case *ast.GenDecl:
				for _, s := range x.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						with(s.Name.Name, "")
					case *ast.ValueSpec:
						for _, n := range s.Names {
							with(n.Name, "")
						}
					}
				}
			}
		}
	}
}

// constantsOf are those of one file; none where there is no such file.
func constantsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return all
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is {
			for _, id := range v.Names {
				all[id.Name] = true
			}
		}
		return true
	})
	return all
}
