package fence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAccessGoesBeforePower where the Lease alone spoke for a machine that was read off: for the
// Lease alone nothing is cut. When the machine reads on again and a condition has held for its
// time, its network is cut before the Off, as the policy and the
// configuration order it.
func TestAccessGoesBeforePower(t *testing.T) {
	for name, c := range map[string]struct {
		heldFor time.Duration
		cut     bool
		want    api.Phase
		action  fence.Action
	}{
		"not cut yet":                            {time.Minute, false, api.Isolating, fence.None},
		"cut already":                            {time.Minute, true, api.Fencing, fence.Off},
		"no condition has held: it is only read": {time.Second, false, api.Fencing, fence.Read},
	} {
		f, now := isolatedFence(specs.Fabric(), api.Fencing)
		at := observed.StampOf(now.Add(-time.Second))
		read := &api.Read{State: api.PoweredOn, At: at}
		d := &f.Status.Decision
		d.Trigger = api.Trigger{Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{}, Since: at}
		d.Settings.EarlyProbe = &api.ProbeSetting{LeaseStillDuration: metav1.Duration{Duration: specs.EarlyStill}}
		d.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown", Duration: metav1.Duration{Duration: specs.EarlyFor}}}
		still := observed.StampOf(now.Add(-time.Minute))
		f.Status.Lease.StillSince = &still
		f.Status.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Since: observed.StampOf(now.Add(-c.heldFor)), Mark: observed.StampOf(fencetest.Start)}}
		f.Status.Isolation, f.Status.Power.LastRead = nil, read
		if c.cut {
			r := api.RecordOf(&d.Isolation()[0])
			r.SeenCutAt = &at
			f.Status.Isolation = []api.IsolationRecord{r}
		}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		st, act := fence.Decide(f, seen, now)
		if st.Phase != c.want || act != c.action {
			t.Errorf("%s: %s %s, %s: %s", name, st.Phase, st.Reason, act, st.Message)
		}
	}
}
