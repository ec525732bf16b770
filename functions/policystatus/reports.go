package policystatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of one pass over the FenceReports.
const (
	// deletedAtOnce is how many FenceReports one pass deletes.
	deletedAtOnce = 100
	// readBeyond is how many FenceReports one pass reads beyond those that are kept.
	readBeyond = 2000
	// passEvery: the ticks of the first minute of each such stretch of time make a pass. A tick keeps nothing for the
	// next one, so the clock alone says which.
	passEvery = 10 * time.Minute
)

// pruneReports deletes FenceReports by age and count, the oldest first (spec.reports of the ledger). What one pass
// leaves is left to the next one.
func (w *Writer) pruneReports(ctx context.Context) error {
	now := w.Now()
	if w.Reports == nil || now.Sub(now.Truncate(passEvery)) >= time.Minute {
		return nil
	}
	ledger, err := w.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger: %w; reports of fences stay until a later tick", err)
	}
	keepFor, atMost := ledger.Spec.Reports.Bounds()
	all, err := w.Reports.FenceReportsAges(ctx, atMost+readBeyond)
	if err != nil {
		return fmt.Errorf("read the reports of fences: %w; they stay until a later tick", err)
	}
	var failed []error
	for _, r := range overdue(all, keepFor, atMost, now) {
		failed = append(failed, w.Reports.DeleteFenceReport(ctx, &r))
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("delete old reports of fences: %w; they stay until a later tick", err)
	}
	return nil
}

// overdue are the oldest reports that are too old or too many, as many as one pass deletes.
func overdue(all []metav1.ObjectMeta, keepFor time.Duration, atMost int, now time.Time) []metav1.ObjectMeta {
	slices.SortFunc(all, func(a, b metav1.ObjectMeta) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	n := max(0, len(all)-atMost)
	for n < len(all) && now.Sub(all[n].CreationTimestamp.Time) > keepFor {
		n++
	}
	return all[:min(n, deletedAtOnce)]
}
