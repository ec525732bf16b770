package due

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/nodefence/nodefence/shared/admission"
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What others did may have ended the hold on a fence: it is looked at sooner than it said.

const (
	// wakeAfter is the delay that joins changes which come together.
	wakeAfter = 300 * time.Millisecond
	// wakePace is the least time between two fences that are woken for one change. Between
	// two wake-ups of one fence lie at least wakeGap, and wakePace for each fence that
	// waits.
	wakePace = 50 * time.Millisecond
	wakeGap  = 2 * time.Second
)

// wakeAll makes each fence that waits with the gate, and that may go on now, due soon, unless it is
// due sooner. The events are sent once counted is closed, if that is set.
func (d *dueList) wakeAll(may func(*api.NodeFence) bool, counted <-chan struct{}, now time.Time) {
	var waits []*due
	for _, x := range d.byNode {
		if x.fence.CurrentPhase() == api.Pending && may(x.fence) {
			waits = append(waits, x)
		}
	}
	slices.SortFunc(waits, func(a, b *due) int { return strings.Compare(a.fence.Spec.NodeName, b.fence.Spec.NodeName) })
	gap := max(wakeGap, time.Duration(len(waits))*wakePace)
	for i, x := range waits {
		at := now.Add(wakeAfter + time.Duration(i)*wakePace)
		if again := x.wokenAt.Add(gap); at.Before(again) {
			at = again
		}
		if x.wakeAt.IsZero() {
			x.wakeAt, x.counted = at, nil
		} else if at.Before(x.wakeAt) {
			x.wakeAt = at
		}
		x.await(counted, now)
	}
}

// await has the fence sent no sooner than counted is closed. asked is when that was asked for: of two
// censuses, the one that was asked for later has more.
func (x *due) await(counted <-chan struct{}, asked time.Time) {
	if counted != nil && (x.counted == nil || !asked.Before(x.asked)) {
		x.counted, x.asked = counted, asked
	}
}

// whichever it is, the fence may go on.
func whichever(*api.NodeFence) bool { return true }

// waitsForNoSlot: what holds the fence is not that others have all slots, or that the Jobs of their checks run. A
// node that is healthy again frees none, so it wakes only these: where a hundred nodes fail and ten are fenced at a
// time, each that came back would otherwise have ninety fences ask in vain.
func waitsForNoSlot(f *api.NodeFence) bool {
	return !f.Status.WaitsFor.OneOf(api.WaitsForSlot, api.WaitsForCheckTurn)
}

// nextOnes is how many fences one free slot wakes. The first may be held by another limit too.
const nextOnes = 2

// wakeNext makes the fences due now that have waited longest for a slot, or for a place in a budget, since
// freed has given its own back. A gate that an event reaches before the census has the free slot would
// count the slot as taken, so the events are sent once counted is closed.
func (d *dueList) wakeNext(freed *api.NodeFence, counted <-chan struct{}, now time.Time) {
	waits := d.waiting(freed, now, func(f *api.NodeFence) bool {
		return f.Status.WaitsFor == api.WaitsForBudget || !gaveBack(freed)
	})
	// Another domain may have room too, and then the turn is its own.
	other := slices.IndexFunc(waits, func(x *due) bool { return d.scopeRelation(freed, x.fence) == otherDomain })
	for i, x := range waits {
		if i < nextOnes || i == other && openedAt(x.fence).Before(openedAt(waits[0].fence)) {
			x.wake(counted, now, now)
		}
	}
}

// wakeForChecks makes the fences due now that have waited longest for the Jobs of other fences' checks to end, since
// a round of checks has ended.
func (d *dueList) wakeForChecks(now time.Time) {
	var waits []*due
	for _, x := range d.byNode {
		if x.fence.CurrentPhase() == api.Pending && x.fence.Status.WaitsFor == api.WaitsForCheckTurn {
			waits = append(waits, x)
		}
	}
	slices.SortFunc(waits, func(a, b *due) int {
		return cmp.Or(cmp.Compare(a.justWoken(now), b.justWoken(now)), admission.ByAge(a.fence, b.fence))
	})
	for _, x := range waits[:min(nextOnes, len(waits))] {
		x.wake(nil, now, now)
	}
}

// wakeInstead wakes the next fence in place of a fence that was woken, or is about to be, and needs nothing that
// is free: the woken fence has failed, its node is healthy, or something else holds it now. The end of a fence
// wakes others by Store.Freed.
func (d *dueList) wakeInstead(woken *due, is *api.NodeFence, now time.Time) {
	p := is.CurrentPhase()
	if !waitsForOthers(woken.fence) || waitsForOthers(is) || p == api.Draining || is.HoldsSlot() || !is.Open() {
		return
	}
	if woken.wakeAt.IsZero() && now.Sub(woken.wokenAt) >= wakeGap {
		return
	}
	if waits := d.waiting(woken.fence, now, whichever); len(waits) > 0 {
		waits[0].wake(woken.counted, woken.asked, now)
	}
}

// waiting are the fences that wait for others and may go on now, those first that are to be woken first:
// who has waited longest. Those come before that policies count together with freed in one domain: where
// the policies limit domains, a slot of zone B is free, and one of zone A may not be. Those come last that
// only another policy counts: its slots are not free now. One that was just woken comes after all others.
func (d *dueList) waiting(freed *api.NodeFence, now time.Time, may func(*api.NodeFence) bool) (all []*due) {
	far := map[*due]int{}
	for _, x := range d.byNode {
		if waitsForOthers(x.fence) && may(x.fence) {
			all, far[x] = append(all, x), d.scopeRelation(freed, x.fence)
		}
	}
	slices.SortFunc(all, func(a, b *due) int {
		return cmp.Or(
			cmp.Compare(a.justWoken(now), b.justWoken(now)),
			cmp.Compare(far[a], far[b]),
			admission.ByAge(a.fence, b.fence))
	})
	return all
}

// wake makes the fence due now, or, where it was just woken, as late as two wake-ups lie apart: it may
// have asked before the slot was free.
func (x *due) wake(counted <-chan struct{}, asked, now time.Time) {
	at := now
	if again := x.wokenAt.Add(wakeGap); at.Before(again) {
		at = again
	}
	x.await(counted, asked)
	if x.wakeAt.IsZero() || at.Before(x.wakeAt) {
		x.wakeAt = at
	}
}

// justWoken is 1 where the fence was woken, or is about to be, so that others come first.
func (x *due) justWoken(now time.Time) int {
	if now.Sub(x.wokenAt) < wakeGap || !x.wakeAt.IsZero() && !x.wakeAt.After(now) {
		return 1
	}
	return 0
}

// gaveBack: the fence, as it was before it changed, held no slot any more since its work was released. Its
// end frees none, only a place in a budget, which counts nodes that are not available. It makes room among
// the 2048 fences that may be under way at once, too (fits, in shared/admission/slots.go): who waits for
// that alone is not woken, and looks by itself within twenty seconds.
func gaveBack(f *api.NodeFence) bool { return f.Status.Release.DoneAt != nil && !f.HoldsSlot() }

// How far apart two fences are: the policies that count both count them in one domain, or in two, or
// there is none.
const (
	together = iota
	otherDomain
	otherPolicy
)

// scopeRelation says that of a fence and one that waits. A budget may count any two.
func (d *dueList) scopeRelation(freed, waits *api.NodeFence) int {
	if waits.Status.WaitsFor == api.WaitsForBudget {
		return together
	}
	all := otherPolicy
	for _, x := range freed.Status.Decision.Limits {
		for _, y := range waits.Status.Decision.Limits {
			switch {
			case x.Policy != y.Policy:
			case y.PerDomain != nil && !d.inOneDomain(y.PerDomain.TopologyKey, freed.Spec.NodeName, waits.Spec.NodeName):
				return otherDomain
			default:
				all = together
			}
		}
	}
	return all
}

// inOneDomain tells whether two nodes have the same value of a label, or neither has it.
func (d *dueList) inOneDomain(key, a, b string) bool { return d.labels(a)[key] == d.labels(b)[key] }

// waitsForOthers: the fence waits until another one is done.
func waitsForOthers(f *api.NodeFence) bool {
	return f.CurrentPhase() == api.Pending && f.Status.WaitsFor.OneOf(api.WaitsForSlot, api.WaitsForBudget)
}

func openedAt(f *api.NodeFence) time.Time {
	if f.Status.OpenedAt == nil {
		return time.Time{}
	}
	return f.Status.OpenedAt.Time
}
