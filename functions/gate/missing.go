package gate

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// missing opens a fence for a node that some policy expects and that has had no Node
// object for too long, as policystatus keeps it in the policy's status (S18). Its
// node UID stays empty: nothing is ever released in its name (S6).
func (g *Gate) missing(ctx context.Context, node string, e event.Event, last *api.NodeFence) (*opened, error) {
	var resolved api.ResolvedPolicy
	var trigger api.Trigger
	expected := func(policies []api.FencePolicy) (ok bool) {
		if resolved, trigger, ok = policy.ResolveMissing(policies, node, g.Client.Clock().Now()); !ok {
			resolved, trigger, ok = policy.ResolveAlone(policies, node, g.Client.Clock().Now())
		}
		return ok
	}
	policies, err := look.PoliciesShowing(ctx, g.Client.NewReader(g.Client.Clock().Elapsed()), expected)
	if err != nil {
		return nil, err
	}
	if !expected(policies) {
		g.ignored(e, node, string(api.NoSuchNode))
		return nil, nil
	}
	if last != nil {
		same := aborted(last, "", trigger, "")
		if is, was := trigger.Machine, last.Status.Decision.Trigger.Machine; is != nil {
			same = was != nil && was.UID == is.UID
		}
		if last.EndedByAPerson() && same {
			g.ignored(e, node, string(api.Aborted))
			return nil, nil
		}
	}
	why := api.NodeMissing
	if trigger.OnlyMachine() {
		why = api.MachineFailed
	}
	g.Reporter.Alerted(ctx, report.Refusal{Function: Name, Cause: e, Node: node, Reason: why,
		Message: trigger.Reason + "; expected by policy " + resolved.Policy.Name}, string(why))
	return g.prepareRecord(ctx, last, node, api.Decision{Trigger: trigger, ResolvedPolicy: resolved})
}

// ignored logs why no fence opens for a node that is missing.
func (g *Gate) ignored(e event.Event, node, why string) {
	g.Log.Info("ignored", "function", Name, "node", node, "event", e.ID(), "type", e.Type(), "reason", why)
}
