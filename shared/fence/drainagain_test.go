package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestWhoIsSentBackIsDrainedAnew: without our marks the node fills again. What was given up is not
// tried again by itself.
func TestWhoIsSentBackIsDrainedAnew(t *testing.T) {
	for how, kept := range map[api.DrainEnd]bool{api.DrainEmpty: false, api.DrainTimeIsOver: false, api.DrainSkipped: false, "": false, api.DrainGivenUp: true} {
		st, _ := alive(api.Recovering, func(f *api.NodeFence, s *observed.Look) {
			ended(how)(f, s)
			if how == "" {
				going(f, s)
			}
			f.Status.Outcome, s.Node.Taint = api.SentBack, false
		})
		if st.Phase != api.Pending || (st.Drain != nil) != kept {
			t.Errorf("%s: %s, drain %v", how, st.Phase, st.Drain)
		}
	}
}

// TestSilenceIsSeenToLast: it counts from the first look that shows it, or from when the Lease is
// known to have missed two renewals, and ends when the node lives.
func TestSilenceIsSeenToLast(t *testing.T) {
	lease := 2*fencetest.Renewal + 5*time.Second
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   *api.Time
	}{
		"it lives":           {quietFor(time.Minute), nil},
		"not Ready":          {notReady, stamp(0)},
		"not Ready since":    {both(notReady, quietFor(20*time.Second)), stamp(20 * time.Second)},
		"by a later clock":   {both(notReady, quietFor(-time.Minute)), stamp(0)},
		"its Lease stands":   {func(f *api.NodeFence, _ *observed.Look) { f.Status.Lease.StillSince = stamp(lease) }, stamp(5 * time.Second)},
		"nothing is drained": {both(notReady, skips), nil},
		"paused meanwhile":   {both(quietFor(time.Minute), func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }), nil},
	} {
		if st, _ := alive(api.Pending, c.change); !st.SilentSince.Equal(c.want) {
			t.Errorf("%s: silent since %v, want %v", name, st.SilentSince, c.want)
		}
	}
}

// TestTimeOfADrain: it counts from when the node is isolated, and anew once the taint was missing.
func TestTimeOfADrain(t *testing.T) {
	st, act := alive(api.Draining, func(f *api.NodeFence, s *observed.Look) {
		f.Status.Drain.IsolatedAt, f.Status.Drain.CountedAt, f.Status.PhaseSince = nil, nil, stamp(time.Hour)
		f.Status.Drain.Spent.Duration = 0
	})
	if r := st.Drain; act != fence.Evict || r.Spent.Duration != 0 || !r.CountedAt.Equal(stamp(0)) || !r.IsolatedAt.Equal(stamp(0)) {
		t.Errorf("first seen isolated: %s, spent %s until %v, isolated %v", act, r.Spent.Duration, r.CountedAt, r.IsolatedAt)
	}
	st, act = alive(api.Draining, func(_ *api.NodeFence, s *observed.Look) { s.Node.Taint = false })
	if r := st.Drain; act != fence.Isolate || r.IsolatedAt != nil || r.CountedAt != nil || r.Spent.Duration != time.Minute {
		t.Errorf("unmarked by somebody: %s, spent %s until %v, isolated %v", act, r.Spent.Duration, r.CountedAt, r.IsolatedAt)
	}
	st, _ = alive(api.Draining, func(f *api.NodeFence, _ *observed.Look) { f.Status.Drain.CountedAt = stamp(time.Hour) })
	if got := st.Drain.Spent.Duration; got != 89*time.Second {
		t.Errorf("nobody looked for an hour: spent %s", got)
	}
}

// TestAWordThatIsNotBelievedEndsNoDrain: the node lives, so it is drained before its machine is cut.
func TestAWordThatIsNotBelievedEndsNoDrain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		want   api.Phase
	}{
		"it was not drained yet":    {func(f *api.NodeFence, _ *observed.Look) { f.Status.Drain = nil }, api.Pending},
		"its drain had begun":       {func(*api.NodeFence, *observed.Look) {}, api.Pending},
		"it has drained":            {ended(api.DrainEmpty), api.Pending},
		"it is not to be drained":   {skips, api.Pending},
		"its power was cut already": {func(f *api.NodeFence, _ *observed.Look) { f.Status.Power.SwitchedByUs = true }, api.Fencing},
	} {
		st, act := alive(api.Fencing, func(f *api.NodeFence, s *observed.Look) {
			confirmed(f, s)
			f.Status.DecidedAt = stamp(time.Second)
			c.change(f, s)
		})
		if a := st.Answer(api.AskedConfirmOff); st.Phase != c.want || act != fence.None || a == nil || a.Result != api.Refused || (c.want == api.Pending) != (st.DecidedAt == nil) {
			t.Errorf("%s: %s %s (%s), %s", name, st.Phase, st.Reason, st.Message, act)
		}
	}
}
