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
		return fmt.Errorf("read the ledger: %w", err)
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
	return errors.Join(failed, unlessLost(err))
}

func (w *Writer) calmDown(ctx context.Context, ledger *api.FenceLedger) error {
	nodes, err := w.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("end storms: %w", err)
	}
	fences, err := w.Objects.Fences(ctx)
	if err != nil {
		return fmt.Errorf("end storms: %w", err)
	}
	policies, err := w.Objects.Policies(ctx)
	if err != nil {
		return fmt.Errorf("end storms: %w", err)
	}
	c := admission.NewPicture(admission.Observed{Nodes: look.ClusterNodes(nodes), Fences: fences, Policies: policies})
	admission.CalmDown(policies, c, ledger, w.Now())
	return nil
}
