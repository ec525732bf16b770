package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

const (
	// longestFunction is how many lines a function of a core may have.
	longestFunction = 40
	// mostBranches is how many ways through a function of a core may part.
	mostBranches = 15
)

// shortFunctions are the cores whose functions are held to both.
var shortFunctions = []string{"functions/cleanup", "functions/gate", "shared/admission", "shared/checkjobs", "shared/fence", "shared/policy"}

// TestFunctionsAreShort: a stranger reads a core rule by rule. So each function says one rule,
// or names the steps of one.
func TestFunctionsAreShort(t *testing.T) {
	for _, core := range shortFunctions {
		files := token.NewFileSet()
		for _, path := range sources(t, "../../"+core) {
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
				if n := branchesOf(fn); n > mostBranches {
					t.Errorf("%s: %s has %d branches, more than %d", at, fn.Name.Name, n, mostBranches)
				}
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
