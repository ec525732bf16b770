package waker

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nodefence/nodefence/shared/fence"
	"github.com/nodefence/nodefence/shared/kube"
)

// calm begins and ends the cool-down of storms that no fence asks for any more. The
// ledger is read first, and everything else after it, so that a storm that begins
// meanwhile has its writer win the compare-and-swap (S14, S15).
func (r *round) calm(ctx context.Context) error {
	ledger, err := r.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("look for storms: %w", err)
	}
	if len(ledger.Status.Storms) == 0 {
		return nil
	}
	nodes, err := r.Objects.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("count under a storm: %w", err)
	}
	fences, err := r.Fences.Fences(ctx)
	if err != nil {
		return fmt.Errorf("count under a storm: %w", err)
	}
	policies, err := r.Objects.Policies(ctx)
	if err != nil {
		return fmt.Errorf("count under a storm: %w", err)
	}
	before := ledger.DeepCopy()
	fence.CalmDown(policies, fence.Cluster{Nodes: kube.ClusterNodes(nodes), Fences: fences}, ledger, r.Now())
	if equality.Semantic.DeepEqual(before.Status, ledger.Status) {
		return nil
	}
	_, err = r.Objects.SaveLedger(ctx, ledger)
	return unlessLost(err)
}
