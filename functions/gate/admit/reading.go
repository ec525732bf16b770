package admit

import (
	"context"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// heldByRead holds a fence while its node's device is being read for the FenceTarget
// (S7). A device is read only in a turn that stands in the ledger, and only if a
// look at the NodeFence after the claim finds no open one. So a fence that takes
// its slot after its record was opened sees in that same ledger whether a read can
// be under way; only where it can, one more object is read.
func heldByRead(ctx context.Context, client *kube.Client, node string, led *api.FenceLedger) (*observed.Verdict, error) {
	now := client.Clock().Now()
	if turn, ok := led.Status.Turn(node); !ok || !now.Before(turn.Time) {
		return nil, nil
	}
	t, err := client.Target(ctx, node)
	if err != nil || t == nil || t.Status.Claim == nil || !now.Before(t.Status.Claim.NotAfter.Time) {
		return nil, err
	}
	until := t.Status.Claim.NotAfter.UTC().Format("15:04:05")
	return &observed.Verdict{Reason: api.DeviceBeingRead, Message: "its device is being read for its FenceTarget, until " + until + " at most", Again: facts.Poll}, nil
}
