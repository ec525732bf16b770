package fence_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest/twins"
	"github.com/nodefence/nodefence/shared/fence/fencetest/walk"
)

// wantsWhole tells whether each broken Decide is looked for in the whole walk at once, which takes minutes. That is no flag,
// because `go test` reuses no result of a test with flags of its own, and it is read while a test runs: of what was read
// before, `go test` knows nothing.
func wantsWhole() bool { return os.Getenv("NODEFENCE_WHOLE_WALK") != "" }

func mustCatch(t *testing.T, x twins.Twin) {
	t.Helper()
	where, decisions := x.Caught(wantsWhole())
	if where == "" {
		t.Fatalf("it survived the walk, and should break: %s", x.Breaks)
	}
	t.Logf("caught after %d decisions: %s", decisions, where)
}

// TestEveryBrokenDecideIsCaught by the promise that it names.
func TestEveryBrokenDecideIsCaught(t *testing.T) {
	for _, x := range twins.Decides() {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			mustCatch(t, x)
		})
	}
}

func TestEveryBrokenActivityCheckIsCaught(t *testing.T) {
	for _, x := range twins.ActivityChecks() {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			mustCatch(t, x)
		})
	}
}

func TestEveryBrokenJoinIsCaught(t *testing.T) {
	t.Parallel()
	for _, x := range twins.Joins() {
		t.Run(x.Name, func(t *testing.T) { mustCatch(t, x) })
	}
}

func TestEveryBrokenLongCallIsCaught(t *testing.T) {
	t.Parallel()
	for _, x := range twins.LongCalls() {
		t.Run(x.Name, func(t *testing.T) { mustCatch(t, x) })
	}
}

func TestEveryBrokenCountIsCaught(t *testing.T) {
	t.Parallel()
	for _, x := range twins.Counts() {
		t.Run(x.Name, func(t *testing.T) { mustCatch(t, x) })
	}
}

// TestEachBrokenDecideNamesItsPromise, and nothing is listed that is none.
func TestEachBrokenDecideNamesItsPromise(t *testing.T) {
	for _, wrong := range twins.Unnamed() {
		t.Error(wrong)
	}
}

// TestHuntsFindNothingInDecide itself: what they caught a twin by would be worth nothing.
func TestHuntsFindNothingInDecide(t *testing.T) {
	hunt := func(name string, few, most int, from []walk.State) {
		for promise, where := range walk.Run(fence.Decide, walk.Options{From: from, Few: few, Most: most}).Broken {
			t.Errorf("%s: %s\n%s", name, promise, where)
		}
	}
	for name, from := range twins.Near() {
		hunt(name, 3, 60, from)
	}
	for i, spec := range walk.Specs() {
		hunt("start "+strconv.Itoa(i), 11, 400, walk.Begin(spec))
	}
}
