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

const (
	// longestFunction is how many lines a function may have.
	longestFunction = 40
	// mostBranches is how many ways through a function may part.
	mostBranches = 15
)

// manyCases are the functions outside of the core that part more often: each is one list of
// cases, which is read from top to bottom.
var manyCases = []string{"carry", "computed", "plain", "parse", "judge", "say", "values"}

// TestFunctionsAreShort: a stranger reads the code rule by rule. So each function says one rule,
// or names the steps of one. How many files and lines a package has is not counted: a topic has a
// file, however long.
func TestFunctionsAreShort(t *testing.T) {
	for _, root := range []string{"functions", "shared", "sources", "events", "infra"} {
		err := filepath.WalkDir("../../"+root, func(dir string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "fencetest" {
				return filepath.SkipDir // tests alone use it: the lists of checks of the walk
			}
			if err == nil && d.IsDir() && hasGo(dir) {
				shortIn(t, dir)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func hasGo(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return len(files) > 0
}

// shortIn holds the functions of one folder to their length.
func shortIn(t *testing.T, dir string) {
	t.Helper()
	files := token.NewFileSet()
	for _, path := range sources(t, dir) {
		if strings.Contains(path, "zz_generated") {
			continue
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			at := files.Position(fn.Pos())
			if n := files.Position(fn.End()).Line - at.Line + 1; n > longestFunction {
				t.Errorf("%s: %s has %d lines, more than %d", at, fn.Name.Name, n, longestFunction)
			}
			if n := branchesOf(fn); n > mostBranches && (cores[strings.TrimPrefix(filepath.ToSlash(dir), "../../")] != nil || !slices.Contains(manyCases, fn.Name.Name)) {
				t.Errorf("%s: %s has %d branches, more than %d", at, fn.Name.Name, n, mostBranches)
			}
		}
	}
}

// branchesOf counts each if, for and range, each case that is not the default, and each && and ||,
// those of the function literals within too.
func branchesOf(fn *ast.FuncDecl) (n int) {
	ast.Inspect(fn, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
