package open

import (
	"context"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/events"
	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
)

// earlyProbe is what the Lease of a node says, if the node's policy asks for early probes.
type earlyProbe struct {
	// mark is the renewTime at which the Lease stands; empty if the Lease was not read.
	mark string
	// trigger is the trigger of a fence for the Lease; why says why there is none.
	trigger *api.Trigger
	why     string
}

// readEarlyProbe reads a Lease that stands still, by the word of an event. The event is a hint only: what
// counts is the Lease and the source's picture of the Lease, by the times at which the source saw it (S18,
// S30).
func (o *Opener) readEarlyProbe(ctx context.Context, n *corev1.Node, policies []api.FencePolicy, last *api.NodeFence, e event.Event) (s earlyProbe, err error) {
	hinted := e.Type() == events.NodeSuspect
	resolved, ok := policy.ResolvePolicy(policies, n.Name, n.Labels)
	if !ok {
		return s, nil
	}
	if hinted && facts.Early(resolved) == nil {
		hinted, s.why = false, "NotInPolicies"
	}
	if !hinted && (last == nil || last.AbortedLease(n.UID) == "") {
		return s, nil
	}
	lease, err := o.Client.Lease(ctx, n.Name)
	if err != nil || lease == nil {
		return s, err
	}
	s.mark = look.LeaseMark(lease)
	if !hinted {
		return s, nil
	}
	led, err := o.Client.Ledger(ctx)
	if err != nil {
		return s, err
	}
	since, no := admission.Suspect(led, n.Name, s.mark, o.Client.Clock().Now())
	if no != nil {
		s.why = string(no.Reason)
		return s, nil
	}
	s.trigger = &api.Trigger{
		Type: api.TriggerLeaseStill, LeaseStill: &api.LeaseStillTrigger{Duration: resolved.Settings.EarlyProbe.LeaseStillDuration},
		Since: metav1.NewMicroTime(since.UTC()),
	}
	return s, nil
}
