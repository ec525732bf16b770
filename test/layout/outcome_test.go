package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// where are the fields of a record that say where a fence stands.
var where = []string{"Phase", "PhaseSince", "Reason", "Message", "NextLook", "Transitions"}

// TestOneFileSaysWhereAFenceStands: a rule returns an outcome, and outcome.go alone writes
// the phase, why, and when the fence is looked at next.
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
			}
			return true
		})
	}
}

// forWords are the files that compare the last reason of a fence, and choose nothing but words and
// metrics by it.
var forWords = []string{
	"shared/fence/facts/conditions.go", "shared/fence/facts/release.go", "shared/fence/facts/words.go", "shared/fence/probing.go",
	"sources/apiserver/gauges/gauges.go", "sources/kubectl-fence/act/fence.go", "sources/kubectl-fence/view/remedies.go",
}

// TestNothingIsDoneByTheLastReason: a reason is for people. What is done goes by status.waitsFor, and by
// what the record says was seen and done.
func TestNothingIsDoneByTheLastReason(t *testing.T) {
	comparing := map[string]bool{}
	for _, folder := range []string{"shared", "functions", "sources"} {
		err := filepath.WalkDir("../../"+folder, func(path string, d fs.DirEntry, err error) error {
			file := strings.TrimPrefix(path, "../../")
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/fencetest/") {
				return err
			}
			for _, at := range lastReasonCompared(t, path) {
				comparing[file] = true
				if !slices.Contains(forWords, file) {
					t.Errorf("%s compares the last reason of a fence", at)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range forWords {
		if !comparing[file] {
			t.Errorf("%s compares no last reason: it needs no place in the list", file)
		}
	}
}

// lastReasonCompared are the places in a file that compare the last reason of a fence with another, by
// an operator, a switch, a map, a slice, or the function that does so.
func lastReasonCompared(t *testing.T, path string) (all []token.Position) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var compared []ast.Expr
		switch x := n.(type) {
		case *ast.BinaryExpr:
			if !isEmptyString(x.X) && !isEmptyString(x.Y) {
				compared = []ast.Expr{x.X, x.Y}
			}
		case *ast.SwitchStmt:
			compared = []ast.Expr{x.Tag}
		case *ast.IndexExpr:
			compared = []ast.Expr{x.Index}
		case *ast.CallExpr:
			if isSelected(x.Fun, "Contains") {
				compared = x.Args
			}
			if isSelected(x.Fun, "LastReasonIs") {
				all = append(all, files.Position(x.Pos()))
			}
		}
		for _, e := range compared {
			if s, is := e.(*ast.SelectorExpr); is && s.Sel.Name == "Reason" && ofRecord(s.X) {
				all = append(all, files.Position(e.Pos()))
			}
		}
		return true
	})
	return all
}

func isEmptyString(e ast.Expr) bool {
	l, is := e.(*ast.BasicLit)
	return is && l.Value == `""`
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
