package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestARetryGoesByWhatWasMended: who asks for it has mended a device's ConfigMap, and a yes
// of a moment ago was given to the old one. The devices are resolved anew, and a slot is
// asked for anew, in whatever phase the fence is (S11, S17).
func TestARetryGoesByWhatWasMended(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	for name, c := range map[string]struct {
		asked bool
		phase api.Phase
		want  []fence.Action
	}{
		"it has failed": {true, api.Failed, []fence.Action{fence.Resolve, fence.Reserve}},
		"it waits, as its device refuses the account": {true, api.Pending, []fence.Action{fence.Resolve, fence.Reserve}},
		"nobody asks for a retry, and a yes is a yes": {false, api.Pending, nil},
	} {
		t.Run(name, func(t *testing.T) {
			yes := now.Add(-10 * time.Second)
			f, s := under(now, func(f *api.NodeFence, _ *observed.Look) {
				at := observed.StampOf(yes)
				f.Status.Phase, f.Status.Reason, f.Status.DecidedAt = c.phase, api.WrongMachine, &at
				if c.phase == api.Pending {
					f.Status.DecidedAt = nil // the flow began anew
				}
				if c.asked {
					f.Spec.Requests.Retry = &api.Request{FenceNumber: 1, By: "kim", At: metav1.NewTime(now)}
				}
			})
			var did []fence.Action
			for range 4 {
				if s.Reserved = nil; f.Status.Phase == api.Pending && (f.Status.GivenBack == nil || !f.Status.GivenBack.Time.Equal(yes)) {
					s.Reserved = &yes // as ReservedAt says; recover, which has the Failed ones, does not ask it
				}
				st, act := fence.Decide(f, s, now)
				if f.Status = st; act == fence.Resolve {
					s.Resolved = true
				}
				if act != fence.None {
					did = append(did, act)
				}
				if act == fence.Reserve || act.Device() || st.Phase == api.Isolating {
					break
				}
			}
			if d := cmp.Diff(c.want, did); d != "" {
				t.Errorf("it is %s: %s\n%s", f.Status.Phase, f.Status.Message, d)
			}
			if yes := f.Status.GivenBack; (yes != nil) != c.asked {
				t.Errorf("given back: %v", yes)
			}
		})
	}
}
