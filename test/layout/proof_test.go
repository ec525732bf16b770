package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// TestOneFileProves: a reader who wants to know on what work is released reads proof.go. So
// no other file of the core makes a proof, and none compares anything with the time for
// which a proof holds.
func TestOneFileProves(t *testing.T) {
	for _, file := range slices.Concat(sources(t, "../../shared/fence"), sources(t, "../../shared/fence/facts")) {
		if name := filepath.Base(file); name == "proof.go" || name == "times.go" {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		words := map[ast.Expr]bool{} // a validity that is only told
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CompositeLit:
				if s, is := x.Type.(*ast.SelectorExpr); is && s.Sel.Name == "Proof" {
					t.Errorf("%s makes a proof: proof.go alone does", files.Position(x.Pos()))
				}
			case *ast.SelectorExpr:
				if x.Sel.Name == "String" {
					words[last(x.X)] = true
				}
			case *ast.Ident:
				if (x.Name == "ProofValidity" || x.Name == "DumpValidity") && !words[x] {
					t.Errorf("%s judges how old a proof is: proof.go alone does", files.Position(x.Pos()))
				}
			}
			return true
		})
	}
}

// last is the name that an expression ends in.
func last(e ast.Expr) ast.Expr {
	if s, is := e.(*ast.SelectorExpr); is {
		return s.Sel
	}
	return e
}
