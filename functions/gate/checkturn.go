package gate

import (
	"context"
	"errors"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
	"github.com/nodefence/nodefence/shared/kube"
)

// askChecks asks whether a round of the fence's checks may begin, together with whoever asks beside it.
// Checks remediate nothing, so other programs are not kept away from the node.
func (g *Gate) askChecks(ctx context.Context, f *api.NodeFence, n observed.Node) (*observed.Verdict, error) {
	return g.slots().ask(ctx, asker{fence: f.DeepCopy(), node: n, checks: true}, g.commit)
}

// checksByJobs tells whether the asker wants to begin Jobs.
func (a *asker) checksByJobs() bool {
	return a.checks && admission.CheckJobs(&a.fence.Status.Decision.Settings) > 0
}

// endChecks takes the turn of the round that began at startedAt out of the ledger: all its Jobs have ended. If
// that fails, the turn ends by its time.
func (g *Gate) endChecks(ctx context.Context, f *api.NodeFence, startedAt time.Time) {
	for range endTries {
		led, err := g.Client.Ledger(ctx)
		if err == nil && !admission.EndChecks(led, f, startedAt) {
			return
		}
		if err == nil {
			_, err = g.Client.SaveLedger(ctx, led)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, kube.ErrConflict) {
			g.Log.Warn("the turn of a round of checks is not given back, and ends by its time", "function", Name, "node", f.Spec.NodeName, "error", err.Error())
			return
		}
	}
}

// endTries is how often a turn is given back while others write the ledger.
const endTries = 5

// left returns how long a Job that begins now may run: the Jobs of a round end within the time for which the
// ledger counts them.
func (r *rounding) left() time.Duration {
	ends := r.round.StartedAt.Add(r.timeout + facts.CheckGrace)
	return min(r.timeout, ends.Sub(r.Client.Clock().Now()))
}
