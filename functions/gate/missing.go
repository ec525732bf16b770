package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// missing opens a fence for a node that some policy expects and that has had no Node
// object for too long, as the second waker keeps it in the policy's status (S18). Its
// node UID stays empty: nothing is ever released in its name (S6).
func (g *Gate) missing(ctx context.Context, node string, e event.Event, last *api.NodeFence) (*opened, error) {
	policies, err := g.Client.Policies(ctx)
	if err != nil {
		return nil, err
	}
	resolved, trigger, ok := policy.ResolveMissing(policies, node, g.Client.Clock().Now())
	if !ok {
		resolved, trigger, ok = policy.ResolveAlone(policies, node, g.Client.Clock().Now())
	}
	if !ok {
		g.ignored(e, node, string(api.NoSuchNode))
		return nil, nil
	}
	if last != nil {
		same := sameSpell(last, "", trigger)
		if is, was := trigger.Machine, last.Status.Decision.Trigger.Machine; is != nil {
			same = was != nil && was.UID == is.UID
		}
		if last.Status.Outcome == api.Aborted && same {
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
	return g.begin(ctx, last, node, api.Decision{Trigger: trigger, ResolvedPolicy: resolved})
}

// lookExcluded: a node that is missing is left alone if its Node object had it left alone
// when it was last seen, as the source keeps it with the enrolment.
func (g *Gate) lookExcluded(ctx context.Context, f *api.NodeFence, seen *fence.Seen) error {
	if !f.Status.Decision.Trigger.Missing() || seen.Node.Exists || f.CurrentPhase() != api.Pending {
		return nil
	}
	cm, err := g.Client.Enrolment(ctx, g.Namespace, f.Spec.NodeName)
	if err != nil || cm == nil {
		return err
	}
	if why := cm.Data[kube.Excluded]; why != "" {
		seen.Node.Excluded = fmt.Sprintf("its Node object is gone, and when it was last seen: %s; to end that, take %s out of ConfigMap %s", why, kube.Excluded, cm.Name)
		return nil
	}
	if !slices.Contains(strings.Fields(cm.Data[kube.ExcludedBy]), f.Status.Decision.Policy.Name) {
		return nil
	}
	policies, err := g.Client.CachedPolicies(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(policies, func(p api.FencePolicy) bool { return p.Name == f.Status.Decision.Policy.Name })
	if i < 0 {
		return nil
	}
	if p := policies[i]; p.Spec.Exclude != nil && p.Spec.Exclude.Selector != nil {
		seen.Node.Excluded = fmt.Sprintf("its Node object is gone, and when it was last seen policy %s excluded it by its labels; to end that, take %s out of ConfigMap %s", f.Status.Decision.Policy.Name, kube.ExcludedBy, cm.Name)
	}
	return nil
}
