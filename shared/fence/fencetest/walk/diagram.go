package walk

import (
	"slices"
	"strings"
)

// Diagram draws every transition that the walk has seen.
func (r *Result) Diagram() string {
	reasons := map[string][]string{}
	for e := range r.Transitions {
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
