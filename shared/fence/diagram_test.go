package fence_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
)

var update = flag.Bool("update", false, "write states.md anew")

func checkDiagram(t *testing.T, r *walk.Result) {
	t.Helper()
	got := r.Diagram()
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
