package look

import (
	"context"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
	"github.com/nodefence/nodefence/shared/policy"
)

// Brakes sees what stops new Offs in the policies and the ledger as they stand, this
// fence's slot, and since when the source has seen its Lease stand still. It goes after
// NodeAndLease. The policy that decides says, too, whether the node is to be fenced on its
// Machine's account.
func Brakes(ctx context.Context, c kube.Recent, f *api.NodeFence, seen *fence.Seen) error {
	led, err := c.Ledger(ctx)
	if err != nil {
		return err
	}
	policies, err := c.Policies(ctx)
	if err != nil {
		return err
	}
	seen.Reserved = admission.ReservedAt(led, f)
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
	seen.Brakes = admission.Against(f, policies, seen.Node, led, c.Clock().Now())
	seen.Brakes.Zones = Zones(policies)
	return nil
}

// Recount asks once more, right before power is cut or access taken, all that was asked
// before the slot was reserved: the ledger is read first, then everything else, by which
// it is held (S13, S14, S15). It goes after Brakes.
func Recount(ctx context.Context, c kube.Recent, f *api.NodeFence, seen *fence.Seen) error {
	now := c.Clock().Now()
	led, err := c.Ledger(ctx)
	if err != nil {
		return err
	}
	lists, err := ReadLists(ctx, c.Client)
	if err != nil {
		return err
	}
	is, selected := admission.Live(lists.Policies, f, seen.Node, now)
	if !selected {
		return nil // which Brakes says
	}
	census, err := lists.Picture(ctx, c.Client, f)
	if err != nil {
		return err
	}
	seen.Brakes.Counted = true
	if v := admission.Recount(f, is, census, led, now); v != nil && !seen.Brakes.Stopped && !seen.Brakes.Paused && !seen.Brakes.Stricter {
		seen.Brakes.Storm, seen.Brakes.Why, seen.Brakes.Message = true, v.Reason, v.Message
	}
	return nil
}
