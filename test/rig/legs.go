package rig

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Legs are how long the parts of fences took, by their own records.
type Legs struct{ Proof, Released, Done []time.Duration }

// Add takes one fence that has ended.
func (l *Legs) Add(f *api.NodeFence) {
	from := f.Status.OpenedAt.Time
	l.Proof = append(l.Proof, f.Status.Proof.At.Sub(from))
	l.Released = append(l.Released, f.Status.Release.DoneAt.Sub(from))
	l.Done = append(l.Done, f.Status.PhaseSince.Sub(from))
}

// String is p50 and p95 of each.
func (l *Legs) String() string {
	return fmt.Sprintf("%d fences, from Ready=Unknown seen: proof %s; released %s; node back %s",
		len(l.Proof), Percentiles(l.Proof), Percentiles(l.Released), Percentiles(l.Done))
}

// Percentiles are p50 and p95 in seconds.
func Percentiles(d []time.Duration) string {
	if len(d) == 0 {
		return "-"
	}
	d = slices.Clone(d)
	slices.Sort(d)
	return fmt.Sprintf("p50 %.2f s, p95 %.2f s", d[len(d)/2].Seconds(), d[len(d)*95/100].Seconds())
}
