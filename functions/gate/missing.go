package gate

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/step"
)

// missing opens a fence for a node that some policy expects and that has had no Node
// object for too long, as the second waker keeps it in the policy's status (S18). Its
// node UID stays empty: nothing is ever released in its name (S6).
func (g *Gate) missing(ctx context.Context, node string, e event.Event, last *api.NodeFence) (opened bool, err error) {
	policies, err := g.Client.Policies(ctx)
	if err != nil {
		return false, err
	}
	policy, trigger, ok := fence.ResolveMissing(policies, node, g.Client.Clock().Now())
	if !ok {
		policy, trigger, ok = fence.ResolveAlone(policies, node, g.Client.Clock().Now())
	}
	if !ok {
		g.ignored(e, node, string(api.NoSuchNode))
		return false, nil
	}
	spec := api.NodeFenceSpec{Node: node, Generation: 1, Trigger: trigger, Policy: policy}
	if last != nil {
		was := last.Spec.Trigger.Machine
		same := sameSpell(last, "", trigger) || trigger.Machine != nil && was != nil && was.UID == trigger.Machine.UID
		if last.Status.Outcome == api.AbortedByPerson && same {
			g.ignored(e, node, string(api.AbortedByPerson))
			return false, nil
		}
		spec.Generation = last.Spec.Generation + 1
	}
	why := api.NodeMissingTold
	if trigger.OnlyMachine() {
		why = api.MachineFailed
	}
	g.Witness.Alerted(ctx, step.Refusal{Function: Name, Cause: e, Node: node, Reason: why,
		Message: trigger.Reason + "; expected by policy " + policy.Name}, string(why))
	return true, g.write(ctx, last, spec)
}
