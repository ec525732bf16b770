package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/test/rig"
)

// span is a time in which a fence may hold its slot.
type span struct{ from, to time.Time }

// printSlots waits until the work of all is released, says how many held a slot at once, and returns
// an error if more did than may.
func (o *off) printSlots(ctx context.Context, most int) error {
	var all []api.NodeFence
	err := rig.Until(ctx, fmt.Sprintf("the work of %d machines to be released", len(o.nodes)), func() (bool, error) {
		fences, err := o.c.Fences.Fences(ctx)
		all = slices.DeleteFunc(fences, func(f api.NodeFence) bool {
			return !slices.Contains(o.nodes, f.Spec.NodeName) || releasedAt(&f).IsZero()
		})
		return len(all) >= len(o.nodes), err
	})
	if err != nil {
		return err
	}
	var toldOff, yes []span
	var last time.Time
	for i := range all {
		at := releasedAt(&all[i])
		toldOff = append(toldOff, span{o.told[all[i].Spec.NodeName], at})
		slots, err := slotsOf(&all[i])
		if err != nil {
			return err
		}
		yes = append(yes, slots...)
		if at.After(last) {
			last = at
		}
	}
	fmt.Printf("first fence opened → last work released        %.2f s\n", last.Sub(o.opened).Seconds())
	return errors.Join(
		withinLimit("between the yes (the records) and release", yes, most),
		withinLimit("between Off (the BMCs' logs) and release", toldOff, most),
	)
}

// withinLimit says how many ran at one time at most, and returns an error if that is more than may.
func withinLimit(what string, spans []span, most int) error {
	n := mostAtOnce(spans)
	fmt.Printf("%-46s at most %d at once, maxConcurrent is %d\n", what, n, most)
	if n > most {
		return fmt.Errorf("%s: %d nodes at once, maxConcurrent is %d", what, n, most)
	}
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

// slotsOf are the times in which the record shows that the fence held a slot: from each yes until
// the work is released, or until the fence is back at the gate and has given the slot back.
func slotsOf(f *api.NodeFence) (all []span, err error) {
	var from time.Time
	for _, h := range f.Status.History {
		released := h.Reason == api.Released
		switch {
		case h.Reason == api.Admitted && from.IsZero():
			from = h.At.Time
		case released && from.IsZero():
			return nil, fmt.Errorf("the record of %s tells of no yes before the release of its work", f.Spec.NodeName)
		case (released || h.Phase == api.Pending) && !from.IsZero():
			all, from = append(all, span{from, h.At.Time}), time.Time{}
		}
		if released {
			return all, nil
		}
	}
	return all, nil
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
