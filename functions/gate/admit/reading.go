package admit

import (
	"context"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// heldByRead refuses a fence while the device of its node is read for the FenceTarget (S7: at most one device
// call in flight per node). A device is read only during a turn that stands in the ledger, and only if no fence
// of the node is open after the claim of the read. So the FenceTarget is read here only if the ledger has such
// a turn.
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
