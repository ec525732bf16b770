package fence

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestARecordWithoutAStatusIsNoFence: one that was applied from a file, or restored without
// its status, does nothing, whatever its spec says (S18).
func TestARecordWithoutAStatusIsNoFence(t *testing.T) {
	now := walkStart.Add(time.Hour)
	f, s := under(now, func(f *api.NodeFence, _ *Seen) {
		f.Status = api.NodeFenceStatus{}
		f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann", At: metav1.NewTime(walkStart)}
	})
	if st, act := Decide(f, s, now); act != None || st.Phase != "" || st.FenceNumber != 0 || f.Open() {
		t.Errorf("%s: %+v", act, st)
	}
}

// TestALeftoverRecordEnds: a gate put its finalizer on it, and died before it opened a
// fence. When it is deleted, it goes by itself and touches nothing (S27).
func TestALeftoverRecordEnds(t *testing.T) {
	now, at := walkStart.Add(time.Hour), metav1.NewTime(walkStart)
	for name, st := range map[string]api.NodeFenceStatus{
		"of a node's first fence":  {},
		"of a fence after another": {FenceNumber: 3, Phase: api.Finished, Outcome: api.Recovered},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, func(f *api.NodeFence, s *Seen) {
				f.Status, f.DeletionTimestamp, f.Finalizers = st, &at, []string{api.Finalizer}
				s.Deleting, s.Finalizer = true, true
			})
			var asked []Action
			for range 9 {
				var act Action
				if f.Status, act = Decide(f, s, now); act == DropFinalizer {
					f.Finalizers, s.Finalizer = nil, false
				}
				if act != None {
					asked = append(asked, act)
				}
			}
			if f.Open() || len(asked) != 1 || asked[0] != DropFinalizer {
				t.Errorf("asked %v, %s %s", asked, f.Status.Phase, f.Status.Message)
			}
		})
	}
}
