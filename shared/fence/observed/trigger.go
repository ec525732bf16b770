package observed

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// TriggerOf is the first condition of the policy that holds on the node.
func TriggerOf(p api.ResolvedPolicy, n Node) (api.Trigger, bool) {
	if all := TriggersOf(p, n); len(all) > 0 {
		return all[0], true
	}
	return api.Trigger{}, false
}

// TriggersOf are the conditions of the policy that hold on the node, in the policy's order.
func TriggersOf(p api.ResolvedPolicy, n Node) (all []api.Trigger) {
	for _, want := range p.Settings.UnhealthyConditions {
		for _, c := range n.Conditions {
			if c.Type == want.Type && c.Status == want.Status {
				all = append(all, api.Trigger{
					Type: api.TriggerNodeCondition, NodeCondition: &api.NodeConditionTrigger{Type: c.Type, Status: c.Status, Duration: want.Duration},
					Since: metav1.NewMicroTime(c.Since.UTC()), Reason: clip.Message(c.Reason),
				})
			}
		}
	}
	return all
}

// Startup is what the startup timeout says of a node that is not Ready now and, as
// far as anybody has seen, never was since it was created: the trigger of a fence
// once the time is over, and until then only that it is starting. Both times are the
// API server's (S30).
func Startup(timeout, age time.Duration, created api.Time) (trigger *api.Trigger, starting bool) {
	if age < timeout {
		return nil, true
	}
	return &api.Trigger{
		Type: api.TriggerStartupTimeout, StartupTimeout: &api.StartupTimeoutTrigger{Duration: metav1.Duration{Duration: timeout}}, Since: created,
	}, false
}
