package checks

import (
	"context"
	"errors"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/kube"
)

// EndTurn takes the turn of the round that began at startedAt out of the ledger, once all Jobs of the round
// have ended. If the write fails, the turn ends by its time.
func (c *Checker) EndTurn(ctx context.Context, f *api.NodeFence, startedAt time.Time) {
	for range endTries {
		led, err := c.Client.Ledger(ctx)
		if err == nil && !admission.EndChecks(led, f, startedAt) {
			return
		}
		if err == nil {
			_, err = c.Client.SaveLedger(ctx, led)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, kube.ErrConflict) {
			c.Log.Warn("the turn of a round of checks is not given back, and ends by its time", "function", function, "node", f.Spec.NodeName, "error", err.Error())
			return
		}
	}
}

// function is the name of the gate in logs.
const function = "gate"

// endTries is the number of tries to give a turn back while others write the ledger.
const endTries = 5
