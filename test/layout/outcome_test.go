package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// where are the fields of a record that say where a fence stands.
var where = []string{"Phase", "PhaseSince", "Reason", "Message", "NextLook", "Transitions"}

// TestOneFileSaysWhereAFenceStands: a rule returns an outcome, and outcome.go alone writes
// the phase, why, and when the fence is looked at next. A reason is for people: what is done
// goes by what the record says was seen and done, and no rule reads the last reason.
func TestOneFileSaysWhereAFenceStands(t *testing.T) {
	for _, file := range sources(t, "../../shared/fence") {
		if filepath.Base(file) == "outcome.go" {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.AssignStmt:
				for _, l := range x.Lhs {
					if s, is := l.(*ast.SelectorExpr); is && ofRecord(s.X) && slices.Contains(where, s.Sel.Name) {
						t.Errorf("%s writes %s: outcome.go alone does", files.Position(s.Pos()), s.Sel.Name)
					}
				}
			case *ast.CompositeLit:
				for _, e := range x.Elts {
					kv, is := e.(*ast.KeyValueExpr)
					if id, named := x.Type.(*ast.SelectorExpr); is && named && id.Sel.Name == "NodeFenceStatus" && (isIdent(kv.Key, "Phase") || isIdent(kv.Key, "Reason")) {
						t.Errorf("%s writes a phase or a reason: outcome.go alone does", files.Position(kv.Pos()))
					}
				}
			case *ast.CallExpr:
				if s, is := x.Fun.(*ast.SelectorExpr); is && s.Sel.Name == "enter" && len(x.Args) > 0 && (isSelected(x.Args[0], "Recovering") || isSelected(x.Args[0], "Fenced")) {
					t.Errorf("%s enters a phase that leave enters: what we cut off is given back first", files.Position(x.Pos()))
				}
			case *ast.BinaryExpr:
				for _, e := range []ast.Expr{x.X, x.Y} {
					if s, is := e.(*ast.SelectorExpr); is && s.Sel.Name == "Reason" && ofRecord(s.X) {
						t.Errorf("%s compares the last reason: it is for people", files.Position(x.Pos()))
					}
				}
			}
			return true
		})
	}
}

// isSelected: the expression is that name of a package.
func isSelected(e ast.Expr, name string) bool {
	s, is := e.(*ast.SelectorExpr)
	return is && s.Sel.Name == name
}

// ofRecord: the expression is a record, d.Record, st or f.Status.
func ofRecord(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name == "st"
	case *ast.SelectorExpr:
		return x.Sel.Name == "Record" || x.Sel.Name == "Status"
	}
	return false
}
