package look

import (
	"context"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// Brakes reads what stops new Offs in the present policies and ledger, this fence's slot,
// and since when the source has seen the node's Lease stand still. Call it after
// Node and Lease. From the policy that decides it also reads whether the node is to be fenced
// because of its Machine. acts says that the look may lead to an action that a policy stops.
func Brakes(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look, acts bool) error {
	led, err := c.Ledger(ctx)
	if err != nil {
		return err
	}
	policies, err := PoliciesFor(ctx, c, f, acts)
	if err != nil {
		return err
	}
	seen.Reserved, seen.ReservedCall = admission.ReservedAt(led, f), admission.ReservedCall(led, f)
	if r := admission.DryRunOf(led, f); r != nil {
		seen.DryRun = &observed.DryRun{At: r.At.Time, Drain: r.Drain}
	}
	for _, s := range led.Status.Leases.Still {
		if s.NodeName == f.Spec.NodeName && s.Renewed == seen.Lease.Renewed {
			seen.Lease.StillSince = s.Since.Time
		}
	}
	for i := range policies {
		if p := &policies[i]; p.Name == f.Status.Decision.Policy.Name {
			seen.MachineLooked, seen.Machine = true, policy.MachineFor(p, f, c.Clock().Now())
		}
	}
	if m := seen.Machine; m != nil && f.AbortedBefore(m.NodeUID, api.Evidence{Type: api.TriggerMachine, MachineState: m.State, Mark: m.Since}, "") {
		seen.Machine = nil // a person has aborted a fence for that, and this one has opened for something else
	}
	seen.Brakes = admission.Against(f, policies, seen.Node, led, c.Clock().Now())
	seen.Brakes.Zones = Zones(policies)
	return nil
}

// Recount repeats, right before power or access is cut, everything that was checked before
// the slot was reserved. It reads the ledger first, and everything else after that (S13:
// never etcd's quorum; S14: the limits hold; S15: a storm is seen as one). Call it after
// Brakes.
func Recount(ctx context.Context, c kube.Reader, f *api.NodeFence, seen *observed.Look) error {
	now := c.Clock().Now()
	led, err := c.Ledger(ctx)
	if err != nil {
		return err
	}
	world, err := ReadWorld(ctx, c, led)
	if err != nil {
		return err
	}
	is, selected := admission.Live(world.Policies, f, seen.Node, now)
	if !selected {
		return nil // Brakes has this reason already
	}
	picture, err := world.Picture(ctx, f, seen.Node, nil)
	if err != nil {
		return err
	}
	seen.Brakes.Counted = true
	if v := admission.Recount(f, is, picture, led, now); v != nil && !seen.Brakes.Stopped && !seen.Brakes.Paused && !seen.Brakes.Stricter {
		seen.Brakes.Storm, seen.Brakes.Why, seen.Brakes.Message = true, v.Reason, v.Message
	}
	return nil
}
