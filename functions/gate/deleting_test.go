package gate

import (
	"strings"
	"testing"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// TestTheGateSeesThatAMachineIsBeingDeleted: what it looks at holds the fence, in words,
// until that Machine or its deletion is no more.
func TestTheGateSeesThatAMachineIsBeingDeleted(t *testing.T) {
	now := time.Now()
	machine := func(meta string) string {
		return `{"metadata":{"name":"x"` + meta + `},"status":{"nodeRef":{"name":"a"}}}`
	}
	for name, c := range map[string]struct {
		machine string
		want    api.Reason
	}{
		"it is":      {machine(`,"deletionTimestamp":"2026-05-01T12:00:00Z"`), api.NodeBeingDeleted},
		"it is not":  {machine(""), api.WaitingForTime},
		"it is gone": {"", api.WaitingForTime},
	} {
		t.Run(name, func(t *testing.T) {
			answers := cluster(now)
			answers["/api/v1/nodes/a"] = `{"metadata":{"name":"a","uid":"1","annotations":{"machine.openshift.io/machine":"m/x"}},"status":{"conditions":[{"type":"Ready","status":"Unknown","lastTransitionTime":"` +
				now.UTC().Format(time.RFC3339) + `"}]}}`
			if c.machine != "" {
				answers["/apis/machine.openshift.io/v1beta1/namespaces/m/machines/x"] = c.machine
			}
			answers[policyPath] = `{"items":[{"metadata":{"name":"p"},"spec":{"selector":{},"mode":"Enforce","action":"Reboot","unhealthyConditions":[{"type":"Ready","status":"Unknown","duration":"1h"}]}}]}`
			client, _ := apiOf(t, answers)
			f := &api.NodeFence{Spec: api.NodeFenceSpec{NodeName: "a"}, Status: api.NodeFenceStatus{FenceNumber: 1, Decision: api.Decision{NodeUID: "1", ResolvedPolicy: api.ResolvedPolicy{Policy: api.PolicyRef{Name: "p"}, Limits: []api.ScopedLimits{{Policy: "p"}}, Settings: api.Settings{Action: api.ActionReboot,
				UnhealthyConditions: read[[]api.ConditionSetting](t, []byte(`[{"type":"Ready","status":"Unknown","duration":"1h"}]`))}}}}}
			seen := observed.Look{Me: "me", Finalizer: true}
			if err := (&Gate{Client: client}).Look(t.Context(), f, &seen, 0); err != nil {
				t.Fatal(err)
			}
			f.Status, _ = fence.Decide(f, seen, now) // opens it
			st, act := fence.Decide(f, seen, now)
			if st.Phase != api.Pending || st.Reason != c.want || act != fence.None {
				t.Errorf("%s %s %s: %s", st.Phase, st.Reason, act, st.Message)
			}
			if held := strings.HasPrefix(st.Message, "its Machine m/x has been in deletion since 2026-05-01T12:00:00Z"); held != (c.want == api.NodeBeingDeleted) {
				t.Error(st.Message)
			}
		})
	}
}
