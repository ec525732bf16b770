package fence_test

import (
	"fmt"
	"strings"
	"testing"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestReleasedPodsAreCountedOnce: what is told is how many pods were on the node and are released,
// however often they were asked to go, and whether nodefence or Kubernetes deleted them.
func TestReleasedPodsAreCountedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy api.ReleaseStrategy
		// left are the pods at each look, and held those that a finalizer holds besides.
		left, held []int
		asked      int
		want       string
	}{
		"all at the first time":         {api.ReleaseResourceDeletion, []int{3, 0}, nil, 1, "3 pods released"},
		"a deletion that is not made":   {api.ReleaseResourceDeletion, []int{3, 3, 1, 0}, nil, 3, "3 pods released"},
		"one is held by a finalizer":    {api.ReleaseResourceDeletion, []int{3, 0, 0}, []int{0, 1, 0}, 1, "3 pods released"},
		"one comes meanwhile, and goes": {api.ReleaseResourceDeletion, []int{1, 2, 0}, nil, 2, "2 pods released"},
		"Kubernetes deletes them":       {api.ReleaseOutOfServiceTaint, []int{3, 2, 0}, nil, 1, "3 pods released"},
		"under the taint, asked again":  {api.ReleaseTaintAndDelete, []int{2, 2, 0}, nil, 2, "2 pods released"},
		"nothing is there":              {api.ReleaseTaintAndDelete, []int{0}, nil, 0, "0 pods released"},
	} {
		spec := fencetest.Spec()
		spec.Decision.Settings.Release.Strategy = tc.strategy
		f, now, asked := releasing(spec), fencetest.Start, 0
		for i, n := range tc.left {
			now = now.Add(facts.Poll)
			f.Status.Proof = proofOf(now)
			seen := fencetest.Look(f, now, "Unknown", false, "a")
			seen.Left = &observed.Left{Delete: make([]observed.Pod, n)}
			if i < len(tc.held) {
				seen.Left.Terminating = tc.held[i]
			}
			var act fence.Action
			if f.Status, act = fence.Decide(f, seen, now); act == fence.Release {
				asked++
			}
			for act == fence.ClearOutOfService {
				seen.Node.OutOfService, seen.Cleared = false, true
				f.Status, act = fence.Decide(f, seen, now)
			}
		}
		if got := fmt.Sprint(f.Status.Phase, ": ", f.Status.Message); asked != tc.asked || !strings.HasSuffix(got, "PoweringOn: "+tc.want) {
			t.Errorf("%s: %s, asked %d times", name, got, asked)
		}
	}
}
