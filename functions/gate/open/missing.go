package open

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// openMissing opens a fence for a node that a policy expects, and that has had no Node object for too long, by
// the status of the policy, which policystatus writes (S18). The node UID of the fence stays empty: nothing is
// ever released by it (S6).
func (o *Opener) openMissing(ctx context.Context, node string, e event.Event, last *api.NodeFence) (r Result, err error) {
	var resolved api.ResolvedPolicy
	var trigger api.Trigger
	expected := func(policies []api.FencePolicy) (ok bool) {
		if resolved, trigger, ok = policy.ResolveMissing(policies, node, o.Client.Clock().Now()); !ok {
			resolved, trigger, ok = policy.ResolveAlone(policies, node, o.Client.Clock().Now())
		}
		return ok
	}
	policies, err := look.PoliciesShowing(ctx, o.Client.NewReader(o.Client.Clock().Elapsed()), expected)
	if err != nil {
		return r, err
	}
	if !expected(policies) {
		o.logIgnored(e, node, string(api.NoSuchNode))
		return r, nil
	}
	if last != nil {
		same := wasAborted(last, "", trigger, "")
		if is, was := trigger.Machine, last.Status.Decision.Trigger.Machine; is != nil {
			same = was != nil && was.UID == is.UID
		}
		if last.EndedByAPerson() && same {
			o.logIgnored(e, node, string(api.Aborted))
			return r, nil
		}
	}
	why := api.NodeMissing
	if trigger.OnlyMachine() {
		why = api.MachineFailed
	}
	o.Reporter.Alerted(ctx, report.Refusal{Function: function, Cause: e, Node: node, Reason: why,
		Message: trigger.Reason + "; expected by policy " + resolved.Policy.Name}, string(why))
	return o.prepareRecord(ctx, last, node, api.Decision{Trigger: trigger, ResolvedPolicy: resolved})
}

// logIgnored logs why no fence opens for a node that is missing.
func (o *Opener) logIgnored(e event.Event, node, why string) {
	o.Log.Info("ignored", "function", function, "node", node, "event", e.ID(), "type", e.Type(), "reason", why)
}
