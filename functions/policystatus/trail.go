package policystatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/kube"
)

// Bounds of one pass over the FenceReports, and of one over the FenceActs.
const (
	// deletedAtOnce is how many objects one pass deletes.
	deletedAtOnce = 100
	// readBeyond is how many objects one pass reads beyond those that are kept.
	readBeyond = 2000
	// passEvery: the ticks of the first minute of each such stretch of time make a pass. A tick keeps nothing for the
	// next one, so the clock alone says which.
	passEvery = 10 * time.Minute
)

// pruneTrail deletes FenceReports and FenceActs by age and count, the oldest first (spec.reports of the ledger bounds
// each kind). What one pass leaves is left to the next one.
func (w *Writer) pruneTrail(ctx context.Context) error {
	now := w.Now()
	if w.Trail == nil || now.Sub(now.Truncate(passEvery)) >= time.Minute {
		return nil
	}
	ledger, err := w.Objects.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger: %w; reports and acts stay until a later tick", err)
	}
	keepFor, atMost := ledger.Spec.Reports.Bounds()
	var failed []error
	for _, resource := range []string{kube.FenceReports, kube.FenceActs} {
		all, err := w.Trail.TrailAges(ctx, resource, atMost+readBeyond)
		if err != nil {
			failed = append(failed, fmt.Errorf("read the %s: %w; they stay until a later tick", resource, err))
			continue
		}
		var standing map[string]bool
		if resource == kube.FenceActs {
			standing = standingActs(all)
		}
		for _, o := range listOverdue(all, standing, keepFor, atMost, now) {
			if err := w.Trail.DeleteOfTrail(ctx, resource, &o); err != nil {
				failed = append(failed, fmt.Errorf("delete one of the old %s: %w; it stays until a later tick", resource, err))
			}
		}
	}
	return errors.Join(failed...)
}

// standingActs names the newest act of each object and field. The source compares the object with this act when the
// source begins, and would write the same act again if it were gone. The name of an act ends with a digest of what
// changed.
func standingActs(all []metav1.ObjectMeta) map[string]bool {
	newest := map[string]metav1.ObjectMeta{}
	for _, o := range all {
		field := o.Name[:max(0, strings.LastIndexByte(o.Name, '-'))]
		if last, ok := newest[field]; !ok || byAge(last, o) < 0 {
			newest[field] = o
		}
	}
	names := map[string]bool{}
	for _, o := range newest {
		names[o.Name] = true
	}
	return names
}

// listOverdue returns the oldest objects that are too old or too many, as many as one pass deletes. What stands is deleted
// last, and for no age.
func listOverdue(all []metav1.ObjectMeta, standing map[string]bool, keepFor time.Duration, atMost int, now time.Time) []metav1.ObjectMeta {
	slices.SortFunc(all, func(a, b metav1.ObjectMeta) int {
		if standing[a.Name] != standing[b.Name] {
			if standing[a.Name] {
				return 1
			}
			return -1
		}
		return byAge(a, b)
	})
	n := max(0, len(all)-atMost)
	for n < len(all) && !standing[all[n].Name] && now.Sub(all[n].CreationTimestamp.Time) > keepFor {
		n++
	}
	return all[:min(n, deletedAtOnce)]
}

func byAge(a, b metav1.ObjectMeta) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
