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

// TestAProofKnowsItsDevice: the second read comes no earlier than the device may read off before the
// machine is (S5), also if the machine was off before we came: somebody may have pressed its button a
// moment ago.
func TestAProofKnowsItsDevice(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	s := func(n time.Duration) *metav1.Duration { return &metav1.Duration{Duration: n * time.Second} }
	for name, c := range map[string]struct {
		lead     *metav1.Duration
		cut      bool
		Admitted bool // its work was released on a proof already
		fresh    bool // the Lease was, when the power was cut
		want     time.Duration
	}{
		"a binding that does not say":             {lead: nil, cut: true, want: 5 * time.Second},
		"a device that declares it":               {lead: s(8), cut: true, want: 8 * time.Second},
		"a cloud":                                 {lead: s(0), cut: true, want: 2 * time.Second},
		"off before we came":                      {lead: s(8), want: 8 * time.Second},
		"a cloud's, off before we came":           {lead: s(0), want: 2 * time.Second},
		"longer than a decision is valid, before": {lead: s(100), want: 20 * time.Second},
		"seen off once, its release goes on":      {lead: s(8), cut: true, Admitted: true, want: 2 * time.Second},
		"over a fresh Lease, a renewal is more":   {lead: s(3), cut: true, fresh: true, want: 4800 * time.Millisecond},
		"over a fresh Lease, the lead is more":    {lead: s(8), cut: true, fresh: true, want: 8 * time.Second},
		"longer than a decision is valid":         {lead: s(100), cut: true, want: 100 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for short, want := range map[time.Duration]api.Phase{time.Millisecond: api.Fencing, 0: api.Releasing} {
				at := now.Add(c.want - short)
				f, seen := under(at, func(f *api.NodeFence, seen *observed.Look) {
					cut := observed.StampOf(now.Add(-time.Second))
					f.Status.Decision.Power(0).Lead = c.lead
					yes := observed.StampOf(now) // which has to last until the second read
					f.Status.DecidedAt = &yes
					f.Status.Power = api.PowerRecord{DeviceRecord: api.DeviceRecord{SwitchedByUs: c.cut, OffAt: &cut}, CutAt: &cut, LeaseFresh: c.fresh, FirstOff: &api.Read{State: api.PoweredOff, At: observed.StampOf(now)}}
					if c.Admitted {
						f.Status.Release = begunAt(now, false)
					}
					read(f, seen, at, "Off")
				})
				if st, _ := fence.Decide(f, seen, at); st.Phase != want {
					t.Errorf("%s too soon: %s (%s)", short, st.Phase, st.Message)
				}
			}
		})
	}
}
