package fence_test

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

func TestStartup(t *testing.T) {
	created := observed.StampOf(fencetest.Start)
	for name, c := range map[string]struct {
		age      time.Duration
		starting bool
	}{
		"young": {10*time.Minute - 1, true}, "at its time": {10 * time.Minute, false}, "long ago": {time.Hour, false},
	} {
		trigger, starting := observed.Startup(10*time.Minute, c.age, created)
		if starting != c.starting || (trigger == nil) != c.starting || trigger != nil && (!trigger.Startup() || !trigger.Since.Equal(&created)) {
			t.Errorf("%s: starting %v, %+v", name, starting, trigger)
		}
	}
}

// TestAFenceOfANodeThatWasNeverReady begins at once, whatever its conditions, and
// ends when the node is Ready (S17).
func TestAFenceOfANodeThatWasNeverReady(t *testing.T) {
	for name, c := range map[string]struct {
		node observed.Node
		want api.Reason
		act  fence.Action
	}{
		"not Ready, by no condition of the policy": {observed.Node{Exists: true, UID: "uid-1", Conditions: []observed.Condition{{Type: "Ready", Status: "False"}}}, "", fence.Reserve},
		"without any condition":                    {observed.Node{Exists: true, UID: "uid-1"}, "", fence.Reserve},
		"Ready by now":                             {observed.Node{Exists: true, UID: "uid-1", Conditions: []observed.Condition{{Type: "Ready", Status: "True"}}}, api.HealedBeforeFence, fence.None},
		"another Node of the name":                 {observed.Node{Exists: true, UID: "uid-2"}, api.NodeReplaced, fence.None},
		"gone":                                     {observed.Node{}, api.NodeGone, fence.None},
	} {
		f, _, _ := fencetest.World(fencetest.Start)
		f.Status.Decision.NodeUID, f.Status.Decision.Devices = "uid-1", api.Named(api.Binding{Driver: "mem"})
		f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{}
		f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}}
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerStartupTimeout, StartupTimeout: &api.StartupTimeoutTrigger{}, Since: observed.StampOf(fencetest.Start.Add(-time.Hour))}
		st, act := fence.Decide(f, observed.Look{Me: "me", Resolved: true, Brakes: observed.Brakes{Looked: true, Counted: true}, Node: c.node}, fencetest.Start)
		if st.Outcome != c.want || act != c.act {
			t.Errorf("%s: %s, outcome %q, %s: %s", name, act, st.Outcome, st.Reason, st.Message)
		}
		if c.act == fence.Reserve && facts.OnlyLease(&f.Status.Decision, &st, fencetest.Start) {
			t.Errorf("%s: it counts as a mere suspicion", name)
		}
	}
}
