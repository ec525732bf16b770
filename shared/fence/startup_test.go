package fence

import (
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

func TestStartup(t *testing.T) {
	created := stampOf(walkStart)
	for name, c := range map[string]struct {
		age      time.Duration
		starting bool
	}{
		"young": {10*time.Minute - 1, true}, "at its time": {10 * time.Minute, false}, "long ago": {time.Hour, false},
	} {
		trigger, starting := Startup(10*time.Minute, c.age, created)
		if starting != c.starting || (trigger == nil) != c.starting || trigger != nil && (!trigger.Startup() || !trigger.Since.Equal(&created)) {
			t.Errorf("%s: starting %v, %+v", name, starting, trigger)
		}
	}
}

// TestAFenceOfANodeThatWasNeverReady begins at once, whatever its conditions, and
// ends when the node is Ready (S17).
func TestAFenceOfANodeThatWasNeverReady(t *testing.T) {
	for name, c := range map[string]struct {
		node Node
		want api.Reason
		act  Action
	}{
		"not Ready, by no condition of the policy": {Node{Exists: true, UID: "uid-1", Conditions: []Condition{{Type: "Ready", Status: "False"}}}, "", Reserve},
		"without any condition":                    {Node{Exists: true, UID: "uid-1"}, "", Reserve},
		"Ready by now":                             {Node{Exists: true, UID: "uid-1", Conditions: []Condition{{Type: "Ready", Status: "True"}}}, api.HealedBeforeFence, None},
		"another Node of the name":                 {Node{Exists: true, UID: "uid-2"}, api.NodeReplaced, None},
		"gone":                                     {Node{}, api.NodeGone, None},
	} {
		f, _, _ := admitWorld(walkStart)
		f.Status.Decision.NodeUID, f.Status.Decision.Devices = "uid-1", api.Named(api.Binding{Driver: "mem"})
		f.Status.Decision.Settings.EarlyProbe = &api.ProbeSetting{}
		f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: "Ready", Status: "Unknown"}}
		f.Status.Decision.Trigger = api.Trigger{Type: api.TriggerStartupTimeout, StartupTimeout: &api.StartupTimeoutTrigger{}, Since: stampOf(walkStart.Add(-time.Hour))}
		st, act := Decide(f, Seen{Me: "me", Resolved: true, Brakes: Brakes{Looked: true, Counted: true}, Node: c.node}, walkStart)
		if st.Outcome != c.want || act != c.act {
			t.Errorf("%s: %s, outcome %q, %s: %s", name, act, st.Outcome, st.Reason, st.Message)
		}
		if c.act == Reserve && onlyLease(&f.Status.Decision, &st, walkStart) {
			t.Errorf("%s: it counts as a mere suspicion", name)
		}
	}
}
