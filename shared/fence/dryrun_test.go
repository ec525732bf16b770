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

// dryCase is a look at a dry run: what is decided, and what the record says then.
type dryCase struct {
	spec   fencetest.Given
	ready  string
	change func(*api.NodeFence, *observed.Look)
	act    fence.Action
	says   string
}

// dryFence is a fence of a spec under mode DryRun at the gate, opened an hour ago, and a look at it.
func dryFence(spec fencetest.Given, ready string) (*api.NodeFence, observed.Look) {
	now := fencetest.Start.Add(time.Hour)
	spec.Decision.Settings.Mode = api.ModeDryRun
	opened := observed.StampOf(now.Add(-time.Minute))
	f := &api.NodeFence{Spec: spec.AsSpec(), Status: spec.In(api.NodeFenceStatus{Phase: api.Pending, FenceNumber: 1, MinReaderVersion: api.Schema, OpenedAt: &opened, PhaseSince: &opened})}
	for i := range f.Status.Decision.AskedBy {
		f.Status.Decision.AskedBy[i].JoinedAt = opened
	}
	return f, fencetest.Look(f, now, ready, ready == "True", "a")
}

// TestADryRunSaysWhatEnforceWouldDo: the gate is asked what Enforce would ask, in a dry run, and the message gives
// the answer with its numbers (S14, S28).
func TestADryRunSaysWhatEnforceWouldDo(t *testing.T) {
	const mode = "; policy p is in DryRun"
	now := fencetest.Start.Add(time.Hour)
	same := func(*api.NodeFence, *observed.Look) {}
	no := func(_ *api.NodeFence, s *observed.Look) {
		s.Verdict = &observed.Verdict{Reason: api.TooManyUnhealthy, Message: "4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)", Again: 10 * time.Second}
	}
	reserved := func(at time.Time, drain bool) func(*api.NodeFence, *observed.Look) {
		return func(_ *api.NodeFence, s *observed.Look) { s.DryRun = &observed.DryRun{At: at, Drain: drain} }
	}
	for name, c := range map[string]dryCase{
		"nobody was asked":         {fencetest.Spec(), "Unknown", same, fence.DryReserve, ""},
		"the devices are not read": {fencetest.Spec(), "Unknown", func(_ *api.NodeFence, s *observed.Look) { s.Resolved = false }, fence.Resolve, ""},
		"a limit holds":            {fencetest.Spec(), "Unknown", no, fence.None, "would be held by TooManyUnhealthy: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)" + mode},
		"nothing holds":            {fencetest.Spec(), "Unknown", reserved(now, false), fence.None, "would begin" + mode},
		"a yes that nobody wrote":  {fencetest.Spec(), "Unknown", reserved(now.Add(-time.Hour), false), fence.DryReserve, ""},
		"cut too often in a day": {fencetest.Spec(), "Unknown", func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.PerNode.CutsPerDay, f.Status.Past = 1, []api.PastFence{{Cuts: 1, ClosedAt: observed.StampOf(now)}}
		}, fence.None, "would be held by NodeFencedTooOften: power was cut 1 times in 24 hours, allowed are 1 (limits.perNode.cutsPerDay)" + mode},
		"checks come first":           {specs.Activity(), "Unknown", func(_ *api.NodeFence, s *observed.Look) { s.DryChecks = true }, fence.None, "would be checked first" + mode},
		"a yes to real checks":        {specs.Activity(), "Unknown", same, fence.DryChecks, ""},
		"checks that a limit holds":   {specs.Activity(), "Unknown", no, fence.None, "would be held by TooManyUnhealthy: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)" + mode},
		"the storage is asked first":  {specs.Storage(), "Unknown", func(_ *api.NodeFence, s *observed.Look) { s.DryChecks = true }, fence.None, "would be checked first" + mode},
		"a node that lives":           {specs.Draining(), "True", same, fence.DryDrain, ""},
		"a node that would drain":     {specs.Draining(), "True", reserved(now, true), fence.None, "would be drained first" + mode},
		"a drain that a limit holds":  {specs.Draining(), "True", no, fence.None, "would be held by TooManyUnhealthy: 4 of 10 nodes are unhealthy, maxUnhealthy is 2 (2)" + mode},
		"a pause":                     {fencetest.Spec(), "Unknown", func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused, s.Brakes.Message = true, "paused by ann" }, fence.None, "paused by ann"},
		"only reports ask":            {specs.Reported(), "True", same, fence.None, "would be held by WaitingForApproval: reported problems ask for this fence"},
		"real slots are no dry slots": {fencetest.Spec(), "Unknown", func(_ *api.NodeFence, s *observed.Look) { s.Reserved = &now }, fence.DryReserve, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, seen := dryFence(c.spec, c.ready)
			c.change(f, &seen)
			st, act := fence.Decide(f, seen, now)
			if act != c.act || act == fence.None && !strings.HasPrefix(st.Message, c.says) || st.Phase != api.Pending || st.Claim != nil {
				t.Errorf("%s, action %q, says %q, want %q, %q", st.Phase, act, st.Message, c.act, c.says)
			}
		})
	}
}

// TestADryRunKeepsItsPlace: a fence that would have begun is held until the node heals, and says since when it would
// have run. A hold, another mode and the end take its place away.
func TestADryRunKeepsItsPlace(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	at := observed.StampOf(now.Add(-30 * time.Minute))
	for name, c := range map[string]struct {
		change func(*api.NodeFence, *observed.Look)
		keeps  bool
		act    fence.Action
	}{
		"the ledger has it":         {func(*api.NodeFence, *observed.Look) {}, true, fence.None},
		"the ledger has lost it":    {func(_ *api.NodeFence, s *observed.Look) { s.DryRun = nil }, true, fence.DryReserve},
		"nobody has looked":         {func(_ *api.NodeFence, s *observed.Look) { s.Brakes = observed.Brakes{} }, true, fence.None},
		"the policies have changed": {func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Changed = true }, true, fence.Resolve},
		"a limit holds since":       {func(_ *api.NodeFence, s *observed.Look) { s.Verdict = says(api.TooManyUnhealthy) }, true, fence.None},
		"it is paused":              {func(_ *api.NodeFence, s *observed.Look) { s.Brakes.Paused = true }, false, fence.None},
		"its node is excluded":      {func(_ *api.NodeFence, s *observed.Look) { s.Node.Excluded = "a label" }, false, fence.None},
		"its policy enforces now":   {func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Mode = api.ModeEnforce }, false, fence.Reserve},
		"a person ends it":          {func(f *api.NodeFence, _ *observed.Look) { f.Spec.Requests.Abort = &api.AbortRequest{By: "ann"} }, false, fence.None},
	} {
		t.Run(name, func(t *testing.T) {
			f, seen := dryFence(fencetest.Spec(), "Unknown")
			f.Status.WouldBeginAt, seen.DryRun, seen.Reserved = &at, &observed.DryRun{At: at.Time}, nil
			c.change(f, &seen)
			st, act := fence.Decide(f, seen, now)
			if keeps := st.WouldBeginAt.Equal(&at); keeps != c.keeps || act != c.act {
				t.Errorf("keeps its place: %t, action %q, %s %s: %s", keeps, act, st.Phase, st.Reason, st.Message)
			}
			if back := st.GivenBack.Equal(&at); back == c.keeps {
				t.Errorf("its place is given back: %t", back)
			}
		})
	}
}

// TestADryRunThatWasGivenBackAsksAnew: what the ledger has still does not count (S17).
func TestADryRunThatWasGivenBackAsksAnew(t *testing.T) {
	f, seen := dryFence(fencetest.Spec(), "Unknown")
	now := fencetest.Start.Add(time.Hour)
	at := observed.StampOf(now.Add(-time.Second))
	f.Status.GivenBack, seen.DryRun = &at, &observed.DryRun{At: at.Time}
	if st, act := fence.Decide(f, seen, now); act != fence.DryReserve || st.WouldBeginAt != nil {
		t.Errorf("action %q, would begin at %v", act, st.WouldBeginAt)
	}
}
