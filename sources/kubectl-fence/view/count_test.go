package view

import "testing"

// TestCount: one is one, and everything else is many.
func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 nodes are", 1: "1 node is", 2: "2 nodes are"} {
		if got := Count(n, "node is", "nodes are"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOneOfMany: "1 of its 6 nodes is unhealthy".
func TestOneOfMany(t *testing.T) {
	for want, n := range map[string][2]int32{"0 of its 1 node are": {0, 1}, "1 of its 1 node is": {1, 1}, "1 of its 6 nodes is": {1, 6}, "2 of its 6 nodes are": {2, 6}} {
		if got := ofItsNodes(n[0], n[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
