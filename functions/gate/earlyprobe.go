package gate

import (
	"context"
	"slices"
	"sync"
	"time"

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

// suspicion is what the Lease of a node says, where its policy takes that for
// an early probe.
type suspicion struct {
	// mark at which the Lease stands; empty if it was not looked at.
	mark string
	// trigger of a fence for it, or why there is none.
	trigger *api.Trigger
	why     string
}

// isNoise: the event is of a Lease that stands still, and no policy takes that
// for an early probe. The source sends it again and again, of each such node.
func (g *Gate) isNoise(ctx context.Context, e event.Event) (bool, error) {
	if e.Type() != events.NodeSuspect {
		return false, nil
	}
	if !g.unasked.still(g.Client.Clock().Now()) {
		asks := func(policies []api.FencePolicy) bool {
			return slices.ContainsFunc(policies, func(p api.FencePolicy) bool { return p.Spec.EarlyProbe != nil })
		}
		policies, err := look.PoliciesShowing(ctx, g.Client.NewReader(g.Client.Clock().Elapsed()), asks)
		if err != nil {
			return false, err
		}
		if asks(policies) {
			return false, nil
		}
		g.unasked.since(g.Client.Clock().Now())
	}
	g.Log.Info("ignored", "function", Name, "node", e.Subject(), "event", e.ID(), "reason", "NotInPolicies")
	return true, nil
}

// unasked is since when this process knows that no policy asks for early probes.
// It is no ground for anything but to pass an event by: on a slow cluster many Leases
// are late, and each of them is an event.
type unasked struct {
	mu sync.Mutex
	at time.Time
}

// unaskedFor is how late a policy that begins to ask for it may be heard.
const unaskedFor = 15 * time.Second

func (u *unasked) still(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	age := now.Sub(u.at)
	return age >= 0 && age < unaskedFor
}

func (u *unasked) since(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at = now
}

// suspicion looks at a Lease that an event says stands still. The event is a hint
// only: what counts is the Lease and the source's picture of it, by the times at
// which it was seen (S18, S30).
func (g *Gate) suspicion(ctx context.Context, n *corev1.Node, policies []api.FencePolicy, last *api.NodeFence, e event.Event) (s suspicion, err error) {
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
	lease, err := g.Client.Lease(ctx, n.Name)
	if err != nil || lease == nil {
		return s, err
	}
	s.mark = look.LeaseMark(lease)
	if !hinted {
		return s, nil
	}
	led, err := g.Client.Ledger(ctx)
	if err != nil {
		return s, err
	}
	since, no := admission.Suspect(led, n.Name, s.mark, g.Client.Clock().Now())
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
