package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestARecordWithoutAStatusIsNoFence: one that was applied from a file, or restored without
// its status, does nothing, whatever its spec says (S18).
func TestARecordWithoutAStatusIsNoFence(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
		f.Status = api.NodeFenceStatus{}
		f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(fencetest.Start)}
	})
	if st, act := fence.Decide(f, s, now); act != fence.None || st.Phase != "" || st.FenceNumber != 0 || f.Open() {
		t.Errorf("%s: %+v", act, st)
	}
}

// TestALeftoverRecordEnds: a gate put its finalizer on it, and died before it opened a
// fence. When it is deleted, it goes by itself and touches nothing (S27).
func TestALeftoverRecordEnds(t *testing.T) {
	now, at := fencetest.Start.Add(time.Hour), metav1.NewTime(fencetest.Start)
	for name, st := range map[string]api.NodeFenceStatus{
		"of a node's first fence":  {},
		"of a fence after another": {FenceNumber: 3, Phase: api.Finished, Outcome: api.Recovered},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status, f.DeletionTimestamp, f.Finalizers = st, &at, []string{api.Finalizer}
				s.Deleting, s.Finalizer = true, true
			})
			var asked []fence.Action
			for range 9 {
				var act fence.Action
				if f.Status, act = fence.Decide(f, s, now); act == fence.DropFinalizer {
					f.Finalizers, s.Finalizer = nil, false
				}
				if act != fence.None {
					asked = append(asked, act)
				}
			}
			if f.Open() || len(asked) != 1 || asked[0] != fence.DropFinalizer {
				t.Errorf("asked %v, %s %s", asked, f.Status.Phase, f.Status.Message)
			}
		})
	}
}
