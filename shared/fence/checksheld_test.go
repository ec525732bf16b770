package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestNoCheckBeforeTheLimits: the gate is asked before each round of checks, and a no holds the round. A dry
// run makes no check at all (S14, S15).
func TestNoCheckBeforeTheLimits(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	storm := &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "5 of 10", Again: 10 * time.Second}
	ended := observed.StampOf(now.Add(-time.Minute))
	later := func(f *api.NodeFence) {
		f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, EndedAt: &ended}, Done: 1, Failed: 1, FailedAt: &ended}
	}
	underWay := func(f *api.NodeFence) {
		f.Status.ActivityChecks = &api.ActivityRecord{CheckRound: api.CheckRound{Number: 1, StartedAt: &api.Time{Time: now}, Since: &ended}}
	}
	tooOften := func(f *api.NodeFence) {
		f.Status.Past = []api.PastFence{{Cuts: f.Status.Decision.Settings.PerNode.CutsPerDay, ClosedAt: ended}}
	}
	mode := func(m api.Mode) func(*api.NodeFence) {
		return func(f *api.NodeFence) {
			f.Status.Decision.Settings.Mode, f.Status.Decision.Settings.ApprovalTimeout.Duration = m, time.Hour
		}
	}
	for name, c := range map[string]struct {
		spec    fencetest.Given
		change  func(*api.NodeFence)
		may     bool
		verdict *observed.Verdict
		why     api.Reason
		act     fence.Action
		begins  bool
	}{
		"nobody was asked":                  {specs.Activity(), nil, false, nil, "", fence.AskChecks, false},
		"a storm":                           {specs.Activity(), nil, false, storm, api.TooManyUnhealthy, fence.None, false},
		"all limits let it":                 {specs.Activity(), nil, true, nil, api.CheckingActivity, fence.Check, true},
		"the second round":                  {specs.Activity(), later, false, nil, "", fence.AskChecks, false},
		"the second round, in a storm":      {specs.Activity(), later, false, storm, api.TooManyUnhealthy, fence.None, false},
		"a round under way, in a storm":     {specs.Activity(), underWay, false, storm, "", fence.Check, false},
		"the storage":                       {specs.Storage(), nil, false, nil, "", fence.AskChecks, false},
		"the storage, in a storm":           {specs.Storage(), nil, false, storm, api.TooManyUnhealthy, fence.None, false},
		"a node that was cut too often":     {specs.Activity(), tooOften, true, nil, api.NodeFencedTooOften, fence.None, false},
		"a dry run":                         {specs.Activity(), mode(api.ModeDryRun), true, nil, "", fence.DryChecks, false},
		"the checks before a person's word": {specs.Activity(), mode(api.ModeRequireApproval), true, nil, api.CheckingActivity, fence.Check, true},
	} {
		f := &api.NodeFence{Spec: c.spec.AsSpec(), Status: c.spec.In(api.NodeFenceStatus{Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &ended})}
		if c.change != nil {
			c.change(f)
		}
		seen := fencetest.Look(f, now, "Unknown", false, "a")
		seen.MayCheck, seen.Verdict = c.may, c.verdict
		st, act := fence.Decide(f, seen, now)
		round := func(st *api.NodeFenceStatus) (n int32) {
			if r := st.StorageCheck; r != nil {
				n += r.Number
			}
			if r := st.ActivityChecks; r != nil {
				n += r.Number
			}
			return n
		}
		if begins := round(&st) > round(&f.Status); st.Phase != api.Pending || st.Reason != c.why || act != c.act || begins != c.begins {
			t.Errorf("%s: %s %s (%s), action %q, a round begins: %t", name, st.Phase, st.Reason, st.Message, act, begins)
		}
	}
}

// TestChecksAfterACoolDownThatAPersonEnded: the history names the person, also where checks come next (S28).
func TestChecksAfterACoolDownThatAPersonEnded(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	opened := observed.StampOf(now.Add(-time.Minute))
	spec := specs.Activity()
	f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{
		Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &opened, Reason: api.StormCoolDown, WaitsFor: api.WaitsForCoolDown,
	})}
	seen := fencetest.Look(f, now, "Unknown", false, "a")
	seen.Brakes.Ended = "anna has ended the cool-down"
	if st, _ := fence.Decide(f, seen, now); st.Reason != api.CheckingActivity || st.Message != "asking whether the node is active; anna has ended the cool-down" {
		t.Errorf("%s: %s", st.Reason, st.Message)
	}
}
