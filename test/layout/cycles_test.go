package layout

import (
	"maps"
	"slices"
	"testing"
)

// longestCycle is how many files of a core may need each other at most.
const longestCycle = 3

// TestFilesAreReadInOneDirection: a stranger reads a core file by file, each after those that
// it needs. So files need each other in one direction only.
func TestFilesAreReadInOneDirection(t *testing.T) {
	for core, p := range compiled(t, slices.Collect(maps.Keys(cores))) {
		for _, cycle := range cyclesOf(typedNeeds(t, p.files, p.exports)) {
			if len(cycle) > longestCycle {
				t.Errorf("%s: %d files need each other: %v", core, len(cycle), cycle)
			}
		}
	}
}

// cyclesOf are the sets of files of which each needs, through others, each other.
func cyclesOf(needs map[string][]string) (all [][]string) {
	reach := map[string]map[string]bool{}
	for file := range needs {
		seen, queue := map[string]bool{}, []string{file}
		for len(queue) > 0 {
			next := queue[0]
			queue = queue[1:]
			for _, n := range needs[next] {
				if !seen[n] {
					seen[n] = true
					queue = append(queue, n)
				}
			}
		}
		reach[file] = seen
	}
	done := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(reach)) {
		if done[file] || !reach[file][file] {
			continue
		}
		var cycle []string
		for _, other := range slices.Sorted(maps.Keys(reach)) {
			if reach[file][other] && reach[other] != nil && reach[other][file] {
				cycle = append(cycle, other)
				done[other] = true
			}
		}
		all = append(all, cycle)
	}
	return all
}
