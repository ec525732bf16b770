package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/hold"
)

// reasons are all words of shared/api/v1alpha1/reasons.go.
func reasons(t *testing.T) (all []api.Reason) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../../shared/api/v1alpha1/reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is {
			if typ, is := v.Type.(*ast.Ident); is && typ.Name == "Reason" {
				all = append(all, api.Reason(v.Names[0].Name))
			}
		}
		return true
	})
	if len(all) < 100 {
		t.Fatalf("only %d reasons were found", len(all))
	}
	return all
}

// TestEveryReasonHasAnAnswer: what can you do?
func TestEveryReasonHasAnAnswer(t *testing.T) {
	known, held := map[api.Reason]bool{}, map[api.Reason]Remedy{}
	for _, r := range hold.Rows() {
		held[r.Reason] = Remedy(r.Remedy)
	}
	for _, r := range reasons(t) {
		known[r] = true
		places := 0
		for _, m := range []map[api.Reason]Remedy{remedies, aside, held} {
			if _, is := m[r]; is {
				places++
			}
		}
		if places != 1 {
			t.Errorf("%s has %d remedies: it belongs in remedies, in aside, or in the table of package hold", r, places)
		}
		if RemedyFor(r).Do == "" {
			t.Errorf("%s: nothing is said", r)
		}
	}
	for _, m := range []map[api.Reason]Remedy{remedies, aside} {
		for r := range m {
			if !known[r] {
				t.Errorf("%s is no reason", r)
			}
		}
	}
	if do := RemedyFor("FromTheFuture").Do; !strings.Contains(do, "FromTheFuture") {
		t.Errorf("of an unknown reason: %s", do)
	}
}

// TestAnAnswerAgreesWithTheList: where infra/crd/REASONS.md has something to do, so has the answer.
func TestAnAnswerAgreesWithTheList(t *testing.T) {
	text, err := os.ReadFile("../../../infra/crd/REASONS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| .* \\| (.*)\\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) < 100 {
		t.Fatalf("only %d rows were found", len(rows))
	}
	for _, row := range rows {
		todo := strings.TrimSpace(row[2])
		idle := strings.HasPrefix(RemedyFor(api.Reason(row[1])).Do, "nothing:")
		if todo != "" && !strings.HasPrefix(todo, "nothing") && todo != "wait" && idle {
			t.Errorf("%s: the list says %q, and the answer is to do nothing", row[1], todo)
		}
	}
}

// TestWhatStaysOffIsAdvisedByWhoSwitchedItOff: a retry switches on what nodefence has switched off, and is not
// needed for what somebody else has (S12).
func TestWhatStaysOffIsAdvisedByWhoSwitchedItOff(t *testing.T) {
	for ours, want := range map[bool]string{true: again, false: ""} {
		f := &api.NodeFence{}
		f.Status.Phase, f.Status.Reason, f.Status.Power.SwitchedByUs = api.Fenced, api.StaysOff, ours
		if r := resume(RemedyFor(api.StaysOff), f); r.Run != want || !strings.Contains(r.Do, "mend the machine") {
			t.Errorf("switched off by nodefence: %v; advice %+v", ours, r)
		}
	}
}
