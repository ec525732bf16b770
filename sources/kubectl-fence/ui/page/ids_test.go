package page

import (
	"regexp"
	"testing"
)

var idOf = regexp.MustCompile(` id="([^"]*)"`)

// TestIDsAreOfOneElement: the script finds by its id what stays on a page, and has it keep the focus.
func TestIDsAreOfOneElement(t *testing.T) {
	l := cluster()
	node, err := NewNode(l, l.Fences[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Shown{"cluster": NewCluster(l, "", false), "node": node, "policies": NewPolicies(l), "history": NewHistory(l, "")} {
		main, err := Main(p)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, m := range idOf.FindAllStringSubmatch(string(main), -1) {
			if seen[m[1]] || m[1] == "" {
				t.Errorf("%s: id %q is there twice, or empty", name, m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) < 3 {
			t.Errorf("%s has %d ids: nothing is tried", name, len(seen))
		}
	}
}
