package act

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// TestShown: a person who agreed is asked again if another fence is open, or if what they agreed to
// would do something else now. Where the fence stands may change, and a brake is never held up.
func TestShown(t *testing.T) {
	approve := func(f *api.NodeFence) (Change, error) { return Approve(f, ann) }
	abort := func(f *api.NodeFence) (Change, error) { return Abort(f, ann) }
	retry := func(f *api.NodeFence) (Change, error) { return Retry(f, ann) }
	waits := fence(api.Pending, api.WaitingForApproval)
	for name, tc := range map[string]struct {
		build   func(*api.NodeFence) (Change, error)
		a, b    *api.NodeFence
		changed bool
	}{
		"another message":      {approve, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Message = "later" }), false},
		"another fence":        {approve, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.FenceNumber++ }), true},
		"another fence, abort": {abort, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.FenceNumber++ }), true},
		"another action":       {approve, waits, fence(api.Pending, api.WaitingForApproval, func(st *api.NodeFenceStatus) { st.Decision.Settings.Action = api.ActionOff }), true},
		"cut meanwhile":        {abort, waits, fence(api.Fencing, api.PowerOffSent, func(st *api.NodeFenceStatus) { st.CutOrReleased = true }), false},
		"read, or cut again":   {retry, fence(api.Fencing, api.WaitingForDevice), fence(api.Failed, api.DeviceFailed), true},
	} {
		a, err := tc.build(tc.a)
		b, err2 := tc.build(tc.b)
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v; %v", name, err, err2)
		}
		if changed := a.Shown() != b.Shown(); changed != tc.changed {
			t.Errorf("%s: changed is %v", name, changed)
		}
	}
	l := &api.FenceLedger{Spec: api.FenceLedgerSpec{Stop: true, StopReason: "switches"}}
	other := l.DeepCopy()
	other.Spec.StopReason = "a fire"
	start, _ := Start(l)
	if now, _ := Start(other); now.Shown() == start.Shown() {
		t.Error("it was stopped for another reason than the person was shown")
	}
	p := &api.FencePolicy{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	worse := p.DeepCopy()
	worse.Status.OpenFences = 1
	pause, _ := Pause(p, "bob")
	if now, _ := Pause(worse, "bob"); now.Shown() != pause.Shown() {
		t.Error("a pause is held up because more fences are open")
	}
}
