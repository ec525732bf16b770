package fence_test

import (
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestARecordWithoutATime leads to no panic, and to nothing that the time would have forbidden (S21): what
// has no beginning begins now, and a round of checks of which nobody knows since when it watches the Lease
// shows no death.
func TestARecordWithoutATime(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	at := observed.StampOf(now.Add(-time.Second))
	checked := func(r api.ActivityRecord) func(*api.NodeFence, *observed.Look) {
		return func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision = specs.Activity().Decision
			f.Status.Phase, f.Status.Placed = api.Pending, api.Placed{}
			f.Status.ActivityChecks = &r
		}
	}
	results := []api.CheckResult{{Check: "a", Answer: api.AnswerNone}}
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		ok     func(*api.NodeFenceStatus, fence.Action) bool
	}{
		"a round without its beginning": {checked(api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: &at, Results: results}}), func(st *api.NodeFenceStatus, _ fence.Action) bool {
			return st.Phase == api.Pending && st.ActivityChecks.Failed == 0 && strings.Contains(st.ActivityChecks.Saw, "does not say since when the Lease is watched")
		}},
		"alive without since when": {checked(api.ActivityRecord{Degraded: true}), func(st *api.NodeFenceStatus, _ fence.Action) bool {
			return st.Phase == api.Pending && st.Reason == api.ActivitySeen && st.ActivityChecks.DegradedSince.Time.Equal(now)
		}},
		"a release without its deadline": {func(f *api.NodeFence, s *observed.Look) {
			f.Status.Phase, f.Status.Release = api.Releasing, api.ReleaseRecord{StartedAt: &at, Batches: 1}
			f.Status.Proof = &api.Proof{Type: api.ProofSeenOff, At: at, BootIDBefore: "a", NodeUID: "uid-1", FenceUID: "fence-1", FenceNumber: 1}
			s.Left = &observed.Left{Delete: []observed.Pod{{Name: "p"}}}
		}, func(st *api.NodeFenceStatus, act fence.Action) bool {
			return act == fence.Release && st.Release.Deadline.Time.Equal(now.Add(50*time.Second))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := under(now, c.change)
			if st, act := fence.Decide(f, s, now); !c.ok(&st, act) {
				t.Errorf("%s %s (%s), %q, %+v, %+v", st.Phase, st.Reason, st.Message, act, st.ActivityChecks, st.Release)
			}
		})
	}
}
