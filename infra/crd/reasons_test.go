package crd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryReasonHasItsRow in REASONS.md, and no row is of a word that nobody says.
func TestEveryReasonHasItsRow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../shared/api/v1alpha1/reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for _, x := range v.Values {
				word, err := strconv.Unquote(x.(*ast.BasicLit).Value)
				if err != nil {
					t.Error(err)
				}
				want = append(want, word)
			}
		}
		return true
	})
	page, err := os.ReadFile("REASONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(page, -1) {
		got = append(got, string(row[1]))
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error("each word of shared/api/v1alpha1/reasons.go has one row in infra/crd/REASONS.md:", d)
	}
}
