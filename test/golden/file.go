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
	compare(t, path, string(is), want)
}

// Embedded is File for a file whose text is, part of the test program, is given.
func Embedded(t testing.TB, path, is, want string) {
	t.Helper()
	if *update {
		File(t, path, want)
		return
	}
	compare(t, path, is, want)
}

func compare(t testing.TB, path, is, want string) {
	t.Helper()
	if d := cmp.Diff(is, want); d != "" {
		t.Errorf("%s is old (make generate, or this test with -update):\n%s", path, d)
	}
}
