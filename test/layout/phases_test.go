package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// restingPhases are those in which a fence waits for a person or for the node.
var restingPhases = map[string]bool{"fenced": true, "failed": true}

// TestAPhaseHasAFile: the rules of a phase begin in a file with the phase's name; those of the
// resting phases in resting.go.
func TestAPhaseHasAFile(t *testing.T) {
	const core = "../../shared/fence"
	declared := map[string]string{}
	for _, path := range sources(t, core) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if m, is := d.(*ast.FuncDecl); is && m.Recv != nil {
				declared[m.Name.Name] = filepath.Base(path)
			}
		}
	}
	rules := rulesByPhase(t, core+"/decide.go")
	if len(rules) < 10 {
		t.Errorf("byPhase has rules for %d phases; this test looks for 10 at least", len(rules))
	}
	for phase, rule := range rules {
		want := strings.ToLower(rule) + ".go"
		if restingPhases[rule] {
			want = "resting.go"
		}
		if !strings.EqualFold(phase, rule) || declared[rule] != want {
			t.Errorf("phase %s: its rules begin with %s in %s, not with its own name in %s", phase, rule, declared[rule], want)
		}
	}
}

// rulesByPhase reads the table of the automaton: phase to method.
func rulesByPhase(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		row, is := n.(*ast.CaseClause)
		if !is || len(row.List) != 1 || len(row.Body) != 1 {
			return true
		}
		phase, isPhase := row.List[0].(*ast.SelectorExpr)
		back, returns := row.Body[0].(*ast.ReturnStmt)
		if !isPhase || !returns || len(back.Results) != 1 {
			return true
		}
		if call, is := back.Results[0].(*ast.CallExpr); is {
			if rule, is := call.Fun.(*ast.SelectorExpr); is {
				rules[phase.Sel.Name] = rule.Sel.Name
			}
		}
		return true
	})
	return rules
}
