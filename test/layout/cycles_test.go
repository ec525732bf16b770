package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// longestCycle is how many files of a core may need each other at most.
const longestCycle = 3

// TestFilesAreReadInOneDirection: a stranger reads a core file by file, each after those that
// it needs. So files need each other in one direction only.
func TestFilesAreReadInOneDirection(t *testing.T) {
	for core := range cores {
		needs := needsOf(t, "../../"+core)
		for _, cycle := range cyclesOf(needs) {
			if len(cycle) > longestCycle {
				t.Errorf("%s: %d files need each other: %v", core, len(cycle), cycle)
			}
		}
	}
}

// needsOf are the files that each file of a package needs: those that declare a name that it
// uses. Methods count where they are called on a receiver of its own.
func needsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	names, methods, parsed := map[string]string{}, map[string]string{}, map[string]*ast.File{}
	files := token.NewFileSet()
	for _, path := range sources(t, dir) {
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Base(path)
		parsed[file] = f
		for _, d := range f.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if x.Recv != nil {
					methods[x.Name.Name] = file
				} else {
					names[x.Name.Name] = file
				}
			case *ast.GenDecl:
				for _, s := range x.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = file
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = file
						}
					}
				}
			}
		}
	}
	delete(names, "decision") // every file has its methods
	needs := map[string][]string{}
	for file, f := range parsed {
		own := map[string]bool{}
		note := func(of string) {
			if of != "" && of != file && !own[of] {
				own[of] = true
				needs[file] = append(needs[file], of)
			}
		}
		receivers := map[string]bool{}
		for _, d := range f.Decls {
			if m, is := d.(*ast.FuncDecl); is && m.Recv != nil && len(m.Recv.List[0].Names) > 0 {
				receivers[m.Recv.List[0].Names[0].Name] = true
			}
		}
		for _, d := range f.Decls {
			local := localsOf(d)
			notNames := map[*ast.Ident]bool{} // fields, keys, and what is declared
			ast.Inspect(d, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.SelectorExpr:
					notNames[x.Sel] = true
					if id, is := x.X.(*ast.Ident); is && receivers[id.Name] {
						note(methods[x.Sel.Name])
					}
				case *ast.KeyValueExpr:
					if id, is := x.Key.(*ast.Ident); is {
						notNames[id] = true
					}
				case *ast.FuncDecl:
					notNames[x.Name] = true
				case *ast.Ident:
					if !notNames[x] && !local[x.Name] {
						note(names[x.Name])
					}
				}
				return true
			})
		}
	}
	return needs
}

// localsOf are the names that a function declares, its fields and parameters with them.
func localsOf(d ast.Decl) map[string]bool {
	all := map[string]bool{}
	note := func(e ast.Expr) {
		if id, is := e.(*ast.Ident); is {
			all[id.Name] = true
		}
	}
	if _, is := d.(*ast.FuncDecl); !is {
		return all
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			for _, id := range x.Names {
				all[id.Name] = true
			}
		case *ast.AssignStmt:
			if x.Tok == token.DEFINE {
				for _, l := range x.Lhs {
					note(l)
				}
			}
		case *ast.RangeStmt:
			note(x.Key)
			note(x.Value)
		case *ast.ValueSpec:
			for _, id := range x.Names {
				all[id.Name] = true
			}
		}
		return true
	})
	return all
}

// cyclesOf are the sets of files of which each needs, through others, each other.
func cyclesOf(needs map[string][]string) (all [][]string) {
	reach := map[string]map[string]bool{}
	for file := range needs {
		seen, queue := map[string]bool{}, []string{file}
		for len(queue) > 0 {
			next := queue[0]
			queue = queue[1:]
			for _, n := range needs[next] {
				if !seen[n] {
					seen[n] = true
					queue = append(queue, n)
				}
			}
		}
		reach[file] = seen
	}
	done := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(reach)) {
		if done[file] || !reach[file][file] {
			continue
		}
		var cycle []string
		for _, other := range slices.Sorted(maps.Keys(reach)) {
			if reach[file][other] && reach[other] != nil && reach[other][file] {
				cycle = append(cycle, other)
				done[other] = true
			}
		}
		all = append(all, cycle)
	}
	return all
}
