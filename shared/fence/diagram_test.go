package fence_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write states.md anew")

// diagram draws every transition that the walk has seen.
func (w *walker) diagram() string {
	reasons := map[string][]string{}
	for e := range w.edges {
		arrow, why, _ := strings.Cut(e, ": ")
		if from, rest, _ := strings.Cut(arrow, " --> "); from == "" {
			arrow = "[*] --> " + rest
		}
		reasons[arrow] = append(reasons[arrow], why)
	}
	var lines []string
	for arrow, why := range reasons {
		slices.Sort(why)
		lines = append(lines, "    "+arrow+": "+strings.Join(why, ", "))
	}
	slices.Sort(lines)
	return "# The automaton\n\nEvery transition that the walk over all reachable states has seen, with its\n" +
		"reasons. Written by `make generate`.\n\n```mermaid\nstateDiagram-v2\n" + strings.Join(lines, "\n") +
		"\n    Finished --> [*]\n```\n"
}

func checkDiagram(t *testing.T, w *walker) {
	t.Helper()
	got := w.diagram()
	if *update {
		if err := os.WriteFile("states.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("states.md")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("states.md is old (make generate):\n%s", d)
	}
}
