package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestAReasonIsNamedByItsWord: who reads a word in kubectl finds it in the code by that word.
func TestAReasonIsNamedByItsWord(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var seen int
	ast.Inspect(f, func(n ast.Node) bool {
		v, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if typ, is := v.Type.(*ast.Ident); !is || typ.Name != "Reason" {
			return true
		}
		seen++
		word, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil || word != v.Names[0].Name {
			t.Errorf("reason %s is called %s", word, v.Names[0].Name)
		}
		return true
	})
	if seen < 100 {
		t.Errorf("only %d reasons were found", seen)
	}
}
