package fence_test

import (
	"testing"

	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
	"github.com/nodefence/nodefence/test/golden"
)

func checkDiagram(t *testing.T, r *walk.Result) {
	t.Helper()
	golden.File(t, "states.md", r.Diagram())
}
