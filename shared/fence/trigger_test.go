package fence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/fencetest"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestAConditionIsAConditionWhateverItsName: conditions with the names of what else a fence
// opens for are no such thing, and count for as long as they hold, and for their time (S17).
func TestAConditionIsAConditionWhateverItsName(t *testing.T) {
	now := fencetest.Start.Add(time.Hour)
	since := observed.StampOf(now.Add(-time.Minute))
	for _, name := range []string{"Machine", "NodeMissing", "LeaseStill", "StartupTimeout", "Lease", "Node", "Startup"} {
		for wait, want := range map[time.Duration]string{0: "Isolating Admitted", 5 * time.Minute: "Pending WaitingForTime"} {
			f, s := waiting(now, func(f *api.NodeFence, s *observed.Look) {
				f.Status.Decision.Settings.UnhealthyConditions = []api.ConditionSetting{{Type: name, Status: "True", Duration: metav1.Duration{Duration: wait}}}
				f.Status.Evidence = []api.Evidence{{Type: api.TriggerNodeCondition, Condition: name, Status: "True", Mark: since, Since: since}}
				f.Status.CutOrReleased = true // from there the trouble of a Machine counts no more
				s.Node.Conditions = []observed.Condition{{Type: name, Status: "True", Reason: strings.Repeat("x", 2000), Since: since.Time}}
				s.MachineLooked = true
			})
			trigger, ok := observed.TriggerOf(f.Status.Decision.ResolvedPolicy, s.Node)
			if c := trigger.NodeCondition; !ok || trigger.Type != api.TriggerNodeCondition || c == nil || c.Type != name || len(trigger.Reason) > 1024 ||
				trigger.OfMachine() || trigger.Missing() || trigger.Suspicion() || trigger.Startup() {
				t.Errorf("%s opens a fence for %+v", name, trigger)
			}
			f.Status.Decision.Trigger = trigger
			st, _ := fence.Decide(f, s, now)
			if got := fmt.Sprint(st.Phase, " ", st.Reason); got != want {
				t.Errorf("%s, which must hold for %s: %s, want %s: %s", name, wait, got, want, st.Message)
			}
			if len(st.Evidence) != 1 || !st.Evidence[0].Same(f.Status.Evidence[0]) || !st.Evidence[0].Since.Equal(&since) {
				t.Errorf("%s: %+v", name, st.Evidence)
			}
		}
	}
}

// TestWhyAFenceOpened in words.
func TestWhyAFenceOpened(t *testing.T) {
	at := observed.StampOf(fencetest.Start)
	machine := func(state api.MachineState) *api.MachineTrigger { return &api.MachineTrigger{State: state} }
	since := "since " + fencetest.Start.Format(time.RFC3339)
	for want, dec := range map[string]api.Decision{
		"Machine=True " + since:                                {Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Machine", Status: "True"}}},
		"its Lease stands still " + since:                      {Trigger: api.Trigger{Type: api.TriggerLeaseStill}},
		"it was never Ready " + since:                          {Trigger: api.Trigger{Type: api.TriggerStartupTimeout}},
		"no Node object, seen " + since:                        {Trigger: api.Trigger{Type: api.TriggerNodeMissing, Reason: "no Node object"}},
		"Machine m/x: phase Failed, seen " + since:             {Trigger: api.Trigger{Type: api.TriggerMachine, Machine: machine(api.MachineStateFailed), Reason: "Machine m/x: phase Failed"}},
		"asked for by ann (smoke), event 1":                    {Trigger: api.Trigger{Type: api.TriggerRequest}, AskedBy: []api.AskedBy{request("1", fencetest.Start)}},
		"asked for by source /racks, event 1":                  {Trigger: api.Trigger{Type: api.TriggerRequest}, AskedBy: []api.AskedBy{{ID: "1", Source: "/racks"}}},
		"Ready=Unknown " + since:                               {Trigger: api.Trigger{Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: "Ready", Status: "Unknown"}}, AskedBy: []api.AskedBy{request("1", fencetest.Start)}},
		"asked for by node problem Hung (TaskHung), event r/1": {Trigger: api.Trigger{Type: api.TriggerProblem}, AskedBy: []api.AskedBy{{ID: "r/1", User: "node problem Hung", Reason: "TaskHung"}}},
	} {
		if dec.Trigger.Since = at; (&facts.Facts{Decision: &dec}).OpenedFor() != want {
			t.Errorf("%q, want %q", (&facts.Facts{Decision: &dec}).OpenedFor(), want)
		}
	}
}
