package fence_test

import (
	_ "embed"
	"testing"

	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/test/golden"
)

// states is part of the test program and is not read from a file: so `go test` may reuse the result of a walk, whose files
// were not written anew by a fresh clone.
//
//go:embed states.md
var states string

func checkDiagram(t *testing.T, r *walk.Result) {
	t.Helper()
	golden.Embedded(t, "states.md", states, r.Diagram())
}
