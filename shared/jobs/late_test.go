package jobs

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/job"
)

// TestNoPodIsHandedACallLate: this process was suspended, so that the claim's time is over and the
// context's is not. It makes no Job, and hands no call to the pod of one (S8: the time of the claim
// is checked right before the call).
func TestNoPodIsHandedACallLate(t *testing.T) {
	for name, tc := range map[string]struct {
		before bool
		did    []string
	}{
		"before its Job is made":         {before: true},
		"while its pod is not there yet": {did: []string{"make job", "delete job"}},
	} {
		t.Run(name, func(t *testing.T) {
			var over atomic.Bool
			over.Store(tc.before)
			y := &yard{play: func(_ *yard, p *corev1.Pod) *corev1.Pod {
				over.Store(true)
				return accepted(p, "node-1")
			}}
			ctx := device.Timely(t.Context(), func() time.Duration {
				if over.Load() {
					return 0
				}
				return time.Minute
			})
			if end, err := theJobs(t, y).Run(ctx, job.Call{Agent: "fence_ours", Action: "off", Limit: 20 * time.Second}); !errors.Is(err, device.ErrLate) {
				t.Errorf("it ends with %+v, %v", end, err)
			}
			if d := cmp.Diff(tc.did, y.did); d != "" {
				t.Error(d)
			}
		})
	}
}
