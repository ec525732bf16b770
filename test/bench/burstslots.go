package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// span is from when a machine was told Off, by its BMC's log, until its work was released.
type span struct{ from, to time.Time }

// printSlots waits until the work of all is released, and says how many held a slot at once.
func (o *off) printSlots(ctx context.Context, most int) error {
	var spans []span
	err := rig.Until(ctx, fmt.Sprintf("the work of %d machines to be released", len(o.nodes)), func() (bool, error) {
		fences, err := o.c.Fences.Fences(ctx)
		spans = spans[:0]
		for i := range fences {
			if at := releasedAt(&fences[i]); !at.IsZero() && !o.told[fences[i].Spec.NodeName].IsZero() {
				spans = append(spans, span{o.told[fences[i].Spec.NodeName], at})
			}
		}
		return len(spans) >= len(o.nodes), err
	})
	if err != nil {
		return err
	}
	last := slices.MaxFunc(spans, func(a, b span) int { return a.to.Compare(b.to) })
	fmt.Printf("first fence opened → last work released        %.2f s\n", last.to.Sub(o.opened).Seconds())
	fmt.Printf("between Off (the BMCs' logs) and release       at most %d at once, maxConcurrent is %d\n", mostAtOnce(spans), most)
	return nil
}

// releasedAt is when the work of a node's first fence of the burst was released; zero if it was not.
func releasedAt(f *api.NodeFence) time.Time {
	for _, h := range f.Status.History {
		if h.Reason == api.Released {
			return h.At.Time
		}
	}
	return time.Time{}
}

// mostAtOnce is how many of them run at one time at most.
func mostAtOnce(spans []span) (most int) {
	for _, at := range spans {
		n := 0
		for _, s := range spans {
			if !s.from.After(at.from) && s.to.After(at.from) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
