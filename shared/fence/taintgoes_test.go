package fence_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheTaintGoesAtTheFirstLookThatNeedsItNoMore: the look that sees the last pod and the last attachment gone takes
// the out-of-service taint off, before anything else is done (S23: the taint is removed as soon as it is about
// nothing). Rook blocklists who has a volume open while the taint stands, so the time between counts. While one
// attachment is left the taint stays, because Kubernetes detaches by it.
func TestTheTaintGoesAtTheFirstLookThatNeedsItNoMore(t *testing.T) {
	for name, tc := range map[string]struct {
		left observed.Left
		want fence.Action
	}{
		"a pod is left":         {observed.Left{Delete: make([]observed.Pod, 1)}, fence.Release},
		"a finalizer is left":   {observed.Left{Terminating: 1}, ""},
		"an attachment is left": {observed.Left{Attachments: 1}, ""},
		"nothing is left":       {observed.Left{}, fence.ClearOutOfService},
	} {
		t.Run(name, func(t *testing.T) {
			spec := fencetest.Spec()
			spec.Decision.Settings.Release.Strategy = api.ReleaseTaintAndDelete
			f, now := releasing(spec), fencetest.Start
			for _, left := range []observed.Left{{Delete: make([]observed.Pod, 1), Attachments: 1}, tc.left} {
				now = now.Add(facts.Poll)
				f.Status.Proof = proofOf(now)
				seen := fencetest.Look(f, now, "Unknown", false, "a")
				seen.Left, seen.Node.OutOfService = &left, f.Status.Placed.OutOfService
				var act fence.Action
				if f.Status, act = fence.Decide(f, seen, now); cmp.Equal(left, tc.left) && act != tc.want {
					t.Errorf("%s, want %s", act, tc.want)
				}
			}
			if !f.Status.Placed.OutOfService {
				t.Error("the taint was never placed, or is forgotten before it was seen off")
			}
		})
	}
}
