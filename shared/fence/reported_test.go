package fence_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/fencetest/specs"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// reportedAt is a fence in this phase that reports opened at fencetest.Start.
func reportedAt(p api.Phase) *api.NodeFence {
	s := specs.Reported()
	f := &api.NodeFence{Spec: s.AsSpec(), Status: s.In(api.NodeFenceStatus{})}
	opened := observed.StampOf(fencetest.Start)
	f.UID = "fence-1"
	f.Status.Phase, f.Status.FenceNumber, f.Status.MinReaderVersion = p, 1, api.Schema
	f.Status.OpenedAt, f.Status.PhaseSince = &opened, &opened
	return f
}

// TestReportsAloneWaitForAPerson: a fence that only Kubernetes Events ask for begins with a person's approval,
// whatever the mode of the policy, and ends without one. Nothing is touched before that (S18, S20).
func TestReportsAloneWaitForAPerson(t *testing.T) {
	type is struct {
		Phase   api.Phase
		Reason  api.Reason
		Outcome api.Reason
		Action  fence.Action
	}
	approve := func(f *api.NodeFence, _ *observed.Look) {
		f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann"}
	}
	for name, c := range map[string]struct {
		after  time.Duration
		ready  string
		change func(*api.NodeFence, *observed.Look)
		want   is
	}{
		"nobody has approved": {time.Second, "True", nil, is{api.Pending, api.WaitingForApproval, "", fence.None}},
		"nobody has approved, and checks are asked for": {time.Second, "True", func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.ActivityChecks = &api.ActivitySettings{}
		}, is{api.Pending, api.WaitingForApproval, "", fence.None}},
		"nobody has approved, and the node is drained before a cut": {time.Second, "True", func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.Settings.Drain.Timeout.Duration = time.Hour
		}, is{api.Pending, api.WaitingForApproval, "", fence.None}},
		"a dry run": {time.Second, "True", func(f *api.NodeFence, _ *observed.Look) { f.Status.Decision.Settings.Mode = api.ModeDryRun }, is{api.Pending, api.DryRun, "", fence.None}},
		"an approval of another fence": {time.Second, "True", func(f *api.NodeFence, _ *observed.Look) {
			f.Spec.Requests.Approve = &api.Request{FenceNumber: 7, By: "ann"}
		}, is{api.Pending, api.WaitingForApproval, "", fence.None}},
		"nobody has approved for an hour": {time.Hour, "True", nil, is{api.Recovering, api.RequestExpired, api.RequestExpired, fence.None}},
		"a report of a time to come": {time.Second, "True", func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.AskedBy[0].JoinedAt = observed.StampOf(fencetest.Start.Add(time.Hour))
		}, is{api.Recovering, api.RequestExpired, api.RequestExpired, fence.None}},
		"approved":                     {time.Second, "True", approve, is{api.Isolating, api.Admitted, "", fence.None}},
		"approved after fifty minutes": {50 * time.Minute, "True", approve, is{api.Isolating, api.Admitted, "", fence.None}},
		"a condition has not lasted":   {time.Second, "Unknown", nil, is{api.Pending, api.WaitingForTime, "", fence.None}},
		"a condition holds for its time": {time.Second, "Unknown", func(f *api.NodeFence, s *observed.Look) {
			f.Status.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: "Ready", Status: "Unknown", Mark: observed.StampOf(s.Node.Conditions[0].Since), Since: observed.StampOf(fencetest.Start.Add(-time.Hour))}}
		}, is{api.Isolating, api.Admitted, "", fence.None}},
		"another request joins": {time.Second, "True", func(f *api.NodeFence, _ *observed.Look) {
			f.Status.Decision.AskedBy = append(f.Status.Decision.AskedBy, api.AskedBy{ID: "2", Source: "/me", Type: "t", JoinedAt: observed.StampOf(fencetest.Start)})
		}, is{api.Isolating, api.Admitted, "", fence.None}},
	} {
		t.Run(name, func(t *testing.T) {
			f, at := reportedAt(api.Pending), fencetest.Start.Add(c.after)
			seen := fencetest.Look(f, at, c.ready, true, "a")
			seen.Resolved = true
			if c.change != nil {
				c.change(f, &seen)
			}
			st, act := fence.Decide(f, seen, at)
			if diff := cmp.Diff(c.want, is{st.Phase, st.Reason, st.Outcome, act}); diff != "" {
				t.Errorf("%s\n%s", diff, st.Message)
			}
		})
	}
}

// TestReportsCutNothingInAnyPhase: a fence that was let begin for reports without an approval ends before its
// first Off. So does a fence whose own reason is gone and that a report has joined (S17, S18).
func TestReportsCutNothingInAnyPhase(t *testing.T) {
	for _, p := range []api.Phase{api.Draining, api.Probing, api.Isolating, api.Fencing} {
		for name, change := range map[string]func(*api.NodeFence){
			"opened by reports": func(*api.NodeFence) {},
			"joined by a report": func(f *api.NodeFence) {
				f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}}
			},
			"joined by a report, and approved": func(f *api.NodeFence) {
				f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}}
				f.Spec.Requests.Approve = &api.Request{FenceNumber: 1, By: "ann"}
			},
		} {
			f, at := reportedAt(p), fencetest.Start.Add(time.Second)
			decided := observed.StampOf(fencetest.Start)
			f.Status.DecidedAt, f.Status.Placed.Taint = &decided, true
			f.Status.Power.LastRead = &api.Read{State: api.PoweredOn, At: decided}
			change(f)
			st, act := fence.Decide(f, fencetest.Look(f, at, "True", true, "a"), at)
			if st.Phase != api.Recovering && st.Phase != api.Restoring || act != fence.None || st.Power.Cuts != 0 {
				t.Errorf("%s in %s: to %s (%s: %s), action %q", name, p, st.Phase, st.Reason, st.Message, act)
			}
		}
	}
}
