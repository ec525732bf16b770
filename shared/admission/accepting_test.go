package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheLedgerSaysWhatHoldsAll: with the words that a fence gets, and the same ones as
// long as nothing but the time has changed.
func TestTheLedgerSaysWhatHoldsAll(t *testing.T) {
	still := func(n int, stale bool) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) {
			for i := range n {
				l.Status.Leases.Still = append(l.Status.Leases.Still, api.StillLease{NodeName: fmt.Sprintf("n%d", i), Stale: stale})
			}
			l.Status.Leases.StillCount = int32(n)
		}
	}
	// off has so many of those machines kept off, as the census saw them later than the Leases moved last.
	off := func(n int, phase api.Phase, later time.Duration, marks ...api.FenceMark) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) {
			l.Status.Census = &api.Census{ObservedAt: observed.StampOf(l.Status.Leases.Still[0].Since.Add(later))}
			for i := range n {
				l.Status.Census.Fences = append(l.Status.Census.Fences, api.CountedFence{NodeName: fmt.Sprintf("n%d", i), Phase: phase, Marks: marks})
			}
		}
	}
	both := func(all ...func(*api.FenceLedger)) func(*api.FenceLedger) {
		return func(l *api.FenceLedger) {
			for _, change := range all {
				change(l)
			}
		}
	}
	const late = admission.CensusLag + time.Second
	two := func(l *api.FenceLedger) { l.Status.Leases.Total = 2 }
	for _, c := range []struct {
		change func(*api.FenceLedger)
		status metav1.ConditionStatus
		want   api.Reason
	}{
		{func(*api.FenceLedger) {}, metav1.ConditionTrue, api.NothingHoldsAll},
		{func(l *api.FenceLedger) { l.Spec.Stop, l.Spec.StopReason = true, "switches" }, metav1.ConditionFalse, api.Stopped},
		{func(l *api.FenceLedger) { l.Status.Restored = fencetest.Restored(0) }, metav1.ConditionFalse, api.StateWentBack},
		{func(l *api.FenceLedger) { l.Status.Leases.ObservedAt = nil }, metav1.ConditionFalse, api.LeasePictureOld},
		{func(l *api.FenceLedger) {
			old := observed.StampOf(fencetest.Start.Add(-time.Hour))
			l.Status.Leases.ObservedAt = &old
		}, metav1.ConditionFalse, api.LeasePictureOld},
		{still(6, true), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(6, true), off(3, api.Fenced, late, api.FenceServed)), metav1.ConditionTrue, api.NothingHoldsAll},
		{both(still(6, true), off(1, api.Fenced, late, api.FenceServed)), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(6, true), off(3, api.Fenced, late)), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(6, true), off(3, api.Recovering, late, api.FenceServed)), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(6, true), off(3, api.Fenced, admission.CensusLag, api.FenceServed)), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(10, true), off(3, api.Fenced, late, api.FenceServed)), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(2, true), off(1, api.Fenced, late, api.FenceServed), two), metav1.ConditionFalse, api.MostLeasesStale},
		{both(still(1, true), two), metav1.ConditionTrue, api.NothingHoldsAll},
		{still(3, false), metav1.ConditionTrue, api.NothingHoldsAll},
		{func(l *api.FenceLedger) { still(2, false)(l); l.Status.Leases.StillCount = 9 }, metav1.ConditionFalse, api.TooManyUnhealthy},
	} {
		f, cl, l := fencetest.World(fencetest.Start)
		l.Generation = 7
		c.change(l)
		l.Status.Conditions = admission.LedgerConditions(l, fencetest.Start)
		want := metav1.Condition{
			Type: admission.AcceptingFences, Status: c.status, Reason: string(c.want), ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(fencetest.Start),
			Message: "no fence is held by the ledger itself; a policy, a budget or a node may hold one",
		}
		if c.status == metav1.ConditionFalse {
			v := admission.Admit(f, cl, l.DeepCopy(), fencetest.Start)
			if v == nil || v.Reason != c.want {
				t.Fatalf("%s: a fence gets %+v", c.want, v)
			}
			want.Message = v.Message
		}
		if d := cmp.Diff([]metav1.Condition{want}, l.Status.Conditions); d != "" {
			t.Errorf("%s: %s", c.want, d)
		}
		later := fencetest.Start.Add(7 * time.Second)
		if d := cmp.Diff(l.Status.Conditions, admission.LedgerConditions(l, later)); d != "" {
			t.Errorf("%s: it changes by the time alone: %s", c.want, d)
		}
	}
}
