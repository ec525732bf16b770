package open

import (
	"context"
	"errors"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/look"
	"github.com/nodefence/nodefence/shared/policy"
	"github.com/nodefence/nodefence/shared/report"
)

// openUnhealthy opens a fence for a node by what its Node object, its Lease and its Machine say.
func (o *Opener) openUnhealthy(ctx context.Context, reader kube.Reader, n *corev1.Node, e event.Event, last *api.NodeFence) (r Result, err error) {
	policies, err := look.PoliciesShowing(ctx, reader, func(all []api.FencePolicy) bool {
		_, selects := policy.ResolvePolicy(all, n.Name, n.Labels)
		return selects
	})
	if err != nil {
		return r, err
	}
	early, err := o.readEarlyProbe(ctx, n, policies, last, e)
	if err != nil {
		return r, err
	}
	start, err := o.readStartup(ctx, n, policies)
	if err != nil {
		return r, err
	}
	start.machine = o.machineTrigger(n, policies)
	dec, why := decideOpening(n, policies, last, early, start)
	if dec == nil {
		o.Log.Info("ignored", "function", function, "node", n.Name, "event", e.ID(), "reason", why)
		return r, nil
	}
	resolved := o.bindDevices(ctx, n, dec)
	r, err = o.prepareRecord(ctx, last, n.Name, *dec)
	r.Resolved = resolved
	if err == nil && dec.Trigger.OfMachine() {
		o.Reporter.Alerted(ctx, report.Refusal{Function: function, Cause: e, Node: n.Name, Reason: api.MachineFailed,
			Message: dec.Trigger.Reason + "; expected by policy " + dec.Policy.Name}, string(api.MachineFailed))
	}
	if errors.Is(err, kube.ErrConflict) {
		return Result{}, nil // another gate has just opened it
	}
	return r, err
}

// bindDevices writes the devices of a node into a decision, and tells whether that succeeded. If not, the
// devices are resolved once the record is open, and the record says why resolving fails.
func (o *Opener) bindDevices(ctx context.Context, n *corev1.Node, dec *api.Decision) bool {
	if o.Bind == nil || !dec.Settings.Action.Reads() || dec.Settings.Conflict != "" {
		return false
	}
	b, err := o.Bind(ctx, n)
	if err != nil {
		return false
	}
	dec.Devices = b.Devices
	b.Over(&dec.ResolvedPolicy)
	return true
}

// decideOpening returns the decision with which a fence opens, or the reason why no fence opens.
func decideOpening(n *corev1.Node, policies []api.FencePolicy, last *api.NodeFence, early earlyProbe, start startup) (*api.Decision, string) {
	resolved, ok := policy.ResolvePolicy(policies, n.Name, n.Labels)
	if !ok {
		return nil, string(api.NoPolicy)
	}
	trigger, why := findReason(n, resolved, last, early, start)
	if trigger == nil {
		return nil, why
	}
	return &api.Decision{NodeUID: n.UID, Trigger: *trigger, ResolvedPolicy: resolved}, ""
}

// findReason returns the first trigger of which no person has aborted a fence: the Machine, the startup
// timeout, or a condition of the policy. An abort for one failure is no abort for another failure. A Lease that
// stands still counts only without another trigger, because it may be a sign of the failure that was aborted.
func findReason(n *corev1.Node, resolved api.ResolvedPolicy, last *api.NodeFence, early earlyProbe, start startup) (t *api.Trigger, why string) {
	var all []api.Trigger
	for _, t := range []*api.Trigger{start.machine, start.trigger} {
		if t != nil {
			all = append(all, *t)
		}
	}
	if !start.starting {
		all = append(all, observed.TriggersOf(resolved, look.WithoutSaidBefore(look.NodeFrom(n, ""), last))...)
	}
	for i := range all {
		if !wasAborted(last, n.UID, all[i], early.mark) {
			return &all[i], ""
		}
	}
	switch {
	case len(all) > 0:
		return nil, string(api.Aborted)
	case start.starting:
		return nil, string(api.Starting)
	case early.trigger == nil && early.why == "":
		return nil, string(api.Healthy)
	case early.trigger != nil && wasAborted(last, n.UID, *early.trigger, early.mark):
		return nil, string(api.Aborted)
	}
	return early.trigger, early.why
}

// wasAborted tells whether a person has aborted a fence of the node for this failure. lease is the mark at
// which the Lease stands; empty if the Lease was not read.
func wasAborted(last *api.NodeFence, uid types.UID, t api.Trigger, lease string) bool {
	return last != nil && last.AbortedWith(uid, t.Spell(), lease)
}
