package policystatus

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/look"
)

// writeLedger begins and ends the cool-down of storms that no fence asks about any more,
// and writes whether the ledger accepts fences. It reads the ledger first, and everything
// else after that: if a storm begins meanwhile, the write that began the storm wins the
// compare-and-swap (S14, S15). A write that loses is left to the next round.
func (w *Writer) writeLedger(ctx context.Context) error {
	ledger, err := w.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger: %w; its storms and conditions stay as they are until the next tick", err)
	}
	before := ledger.DeepCopy()
	var failed error
	if len(ledger.Status.Storms) > 0 {
		failed = w.calmDown(ctx, ledger)
	}
	ledger.Status.Conditions = admission.LedgerConditions(ledger, w.Now())
	if equality.Semantic.DeepEqual(before.Status, ledger.Status) {
		return failed
	}
	_, err = w.Objects.SaveLedger(ctx, ledger)
	if err = unlessLost(err); err != nil {
		err = fmt.Errorf("write the ledger's status: %w; its storms and conditions stay as they are until the next tick", err)
	}
	return errors.Join(failed, err)
}

func (w *Writer) calmDown(ctx context.Context, ledger *api.FenceLedger) error {
	nodes, err := w.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("read the nodes: %w; storms stay on the ledger until the next tick", err)
	}
	fences, err := w.Objects.Fences(ctx)
	if err != nil {
		return fmt.Errorf("read the fences: %w; storms stay on the ledger until the next tick", err)
	}
	policies, err := w.Objects.Policies(ctx)
	if err != nil {
		return fmt.Errorf("read the policies: %w; storms stay on the ledger until the next tick", err)
	}
	c := admission.NewPicture(admission.Observed{Nodes: look.ClusterNodes(nodes), Fences: fences, Policies: policies})
	admission.CalmDown(policies, c, ledger, w.Now())
	return nil
}
