package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write generated files anew")

// File is an error if a file says anything else; with -update it says this from now on.
func File(t testing.TB, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(is), want); d != "" {
		t.Errorf("%s is old (make generate, or this test with -update):\n%s", path, d)
	}
}
