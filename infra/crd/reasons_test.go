package crd_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/hold"
	"github.com/nodefence/nodefence/test/golden"
)

// heldSection is the part of REASONS.md up to the end of the head of the table of holds, and after it the rows.
var heldSection = regexp.MustCompile(`(?s)^(.*\n## Held by the policies, or by the node\n.*?\n\|---\|---\|---\|\n)(?:\|[^\n]*\n)*`)

// TestGeneratedHolds: REASONS.md has the table of package hold, in the same order.
func TestGeneratedHolds(t *testing.T) {
	page, err := os.ReadFile("REASONS.md")
	if err != nil {
		t.Fatal(err)
	}
	at := heldSection.FindSubmatchIndex(page)
	if at == nil {
		t.Fatal("REASONS.md has no section of holds")
	}
	text := string(page[:at[3]])
	for _, r := range hold.Rows() {
		text += fmt.Sprintf("| `%s` | %s | %s |\n", r.Reason, meaningOfHold(r), remedyOfHold(r))
	}
	golden.File(t, "REASONS.md", text+string(page[at[1]:]))
}

// meaningOfHold returns the second cell of a hold, with a link to the page about the hold.
func meaningOfHold(r hold.Row) string {
	if r.Docs == "" {
		return r.Means
	}
	return r.Means + " ([more](../../" + r.Docs + "))"
}

// remedyOfHold returns the third cell of a hold.
func remedyOfHold(r hold.Row) string {
	if r.Remedy.Run == "" {
		return r.Remedy.Do
	}
	return r.Remedy.Do + ": `" + r.Remedy.Run + "`"
}

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
