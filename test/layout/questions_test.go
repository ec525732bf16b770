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

// TestAQuestionChangesNothing: what returns a bool and nothing else is asked before it is
// known what is to be done, and may be asked twice. So it neither writes the record nor says
// where the fence goes, by itself or through what it calls.
func TestAQuestionChangesNothing(t *testing.T) {
	methods := methodsOf(t, "../../shared/fence", "decision")
	writes := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for name, m := range methods {
			if !writes[name] && writesRecord(m, writes) {
				writes[name], changed = true, true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if r := methods[name].Type.Results; writes[name] && r != nil && len(r.List) == 1 && isIdent(r.List[0].Type, "bool") {
			t.Errorf("%s answers a question and writes the record: let it return an outcome", name)
		}
	}
}

// TestFactsChangeNothing: package facts has questions only, and package observed what they are
// asked about. So no function there writes into what it was given.
func TestFactsChangeNothing(t *testing.T) {
	for _, dir := range []string{"../../shared/fence/facts", "../../shared/fence/observed"} {
		for _, path := range sources(t, dir) {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				if fn, is := d.(*ast.FuncDecl); is {
					for _, at := range writesGiven(fn) {
						t.Errorf("%s: %s writes into what it was given: a question changes nothing", files.Position(at), fn.Name.Name)
					}
				}
			}
		}
	}
}

// writesGiven are the places where a function assigns to a part of its receiver, or of a
// parameter, or of what it has by a pointer into one.
func writesGiven(fn *ast.FuncDecl) (places []token.Pos) {
	given := map[string]bool{}
	for _, of := range []*ast.FieldList{fn.Recv, fn.Type.Params} {
		if of == nil {
			continue
		}
		for _, f := range of.List {
			for _, n := range f.Names {
				given[n.Name] = true
			}
		}
	}
	within := func(e ast.Expr) bool {
		root, part := path(e)
		root, _, _ = strings.Cut(root, ".")
		return part && given[root]
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, l := range x.Lhs {
				if within(l) {
					places = append(places, l.Pos())
				}
				id, is := l.(*ast.Ident)
				if !is || len(x.Rhs) != len(x.Lhs) {
					continue
				}
				if u, is := x.Rhs[i].(*ast.UnaryExpr); is && u.Op == token.AND && within(u.X) {
					given[id.Name] = true
				}
			}
		case *ast.IncDecStmt:
			if within(x.X) {
				places = append(places, x.Pos())
			}
		}
		return true
	})
	return places
}

// methodsOf are the methods of a type in a package, its tests aside.
func methodsOf(t *testing.T, dir, of string) map[string]*ast.FuncDecl {
	t.Helper()
	all := map[string]*ast.FuncDecl{}
	for _, path := range sources(t, dir) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if m, is := d.(*ast.FuncDecl); is && m.Recv != nil && receiver(m) == of {
				all[m.Name.Name] = m
			}
		}
	}
	return all
}

// sources are the files of a package, its tests aside.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files in ", dir, err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

func receiver(m *ast.FuncDecl) string {
	of := m.Recv.List[0].Type
	if p, is := of.(*ast.StarExpr); is {
		of = p.X
	}
	if id, is := of.(*ast.Ident); is {
		return id.Name
	}
	return ""
}

func isIdent(e ast.Expr, name string) bool {
	id, is := e.(*ast.Ident)
	return is && id.Name == name
}

// writesRecord: a method assigns to d.Record, or to what it has from there, or calls a method
// that does.
func writesRecord(m *ast.FuncDecl, writes map[string]bool) (found bool) {
	d := ""
	if names := m.Recv.List[0].Names; len(names) > 0 {
		d = names[0].Name
	}
	into := map[string]bool{} // what points into the record
	ast.Inspect(m, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, l := range x.Lhs {
				if root, field := path(l); field && (root == d+".Record" || into[root]) {
					found = true
				}
				if id, is := l.(*ast.Ident); is && x.Tok == token.DEFINE && len(x.Rhs) == len(x.Lhs) {
					if u, is := x.Rhs[i].(*ast.UnaryExpr); is && u.Op == token.AND {
						if root, _ := path(u.X); root == d+".Record" {
							into[id.Name] = true
						}
					}
				}
			}
		case *ast.IncDecStmt:
			if root, field := path(x.X); field && (root == d+".Record" || into[root]) {
				found = true
			}
		case *ast.CallExpr:
			if s, is := x.Fun.(*ast.SelectorExpr); is && isIdent(s.X, d) && writes[s.Sel.Name] {
				found = true
			}
		}
		return true
	})
	return found
}

// path is where an expression begins, d.Record of d.Record.Power.Level or r of r.OffAt, and whether
// it is a part of that, or the whole record.
func path(e ast.Expr) (root string, part bool) {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name, false
	case *ast.ParenExpr:
		return path(x.X)
	case *ast.StarExpr:
		root, _ := path(x.X)
		return root, true
	case *ast.IndexExpr:
		root, _ := path(x.X)
		return root, true
	case *ast.SelectorExpr:
		root, part := path(x.X)
		if !part && x.Sel.Name == "Record" {
			return root + ".Record", true
		}
		return root, true
	}
	return "", false
}
