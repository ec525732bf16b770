package admission_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestEveryMaskedStormIsCaught has broken twins of Admit, two for each hold that answers before the storm: one
// answers before it counts, so that no storm begins, and one lets storms cool down on a picture on which no fence
// may begin.
func TestEveryMaskedStormIsCaught(t *testing.T) { // S15
	for name := range masking {
		if len(countUnder(name, answersFirst(name))) == 0 {
			t.Errorf("a twin that notes no storm where %s answers is not caught", name)
		}
		if name != anotherScope && len(countUnder(name, coolsDownUnder)) == 0 {
			t.Errorf("a twin that cools storms down where %s answers is not caught", name)
		}
	}
	caught := healInOrder(answersFirst("MostLeasesStale"), []int{0, 1, 2, 3}, 6)
	if caught == "" {
		t.Error("a twin that notes no storm while most Leases stand still is not caught while nodes heal")
	}
	t.Log(caught)
}

// answersFirst is a twin that leaves the storms unchanged where the hold answers.
func answersFirst(name string) admitter {
	return func(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
		was := slices.Clone(l.Status.Storms)
		v := admission.Admit(f, c, l, now)
		if v != nil && answers(name, v) {
			l.Status.Storms = was
		}
		return v
	}
}

// answers tells whether a verdict is that of a hold in masking.
func answers(name string, v *observed.Verdict) bool {
	if reason, other := (map[string]api.Reason{
		moreStill: api.TooManyUnhealthy, "missing nodes are uncounted": api.TooManyUnhealthy, anotherScope: api.StormCoolDown,
	})[name]; other {
		return v.Reason == reason
	}
	return string(v.Reason) == name
}

// coolsDownUnder is a twin that brings storms to date as if nothing held all fences.
func coolsDownUnder(f *api.NodeFence, c admission.Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	free, seen := l.DeepCopy(), c
	_, _, usable := fencetest.World(now)
	free.Spec.Stop, free.Status.Restored, free.NotUnderstood, free.Status.Leases, seen.Uncounted = false, nil, api.NotUnderstood{}, usable.Status.Leases, nil
	admission.Admit(f, seen, free, now)
	v := admission.Admit(f, c, l, now)
	l.Status.Storms = free.Status.Storms
	return v
}
