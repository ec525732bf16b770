package due

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// dueList keeps when each open NodeFence is due to be looked at.
type dueList struct {
	resync time.Duration
	byNode map[string]*due
}

type due struct {
	fence *api.NodeFence
	at    time.Time
	// hurry is an earlier due time, set because the hold on the fence may have ended; zero
	// if there is none. hurried is when the fence was last sent for this reason.
	hurry, hurried time.Time
	// counted, if set, is closed once the ledger's census has what ended the hold.
	counted <-chan struct{}
}

func newDueList(resync time.Duration) *dueList {
	return &dueList{resync: resync, byNode: map[string]*due{}}
}

// note notes a NodeFence as it is now. It is due at once if it has no nextLook (S19: none
// said means now), if a person has just asked for something, or if it is
// being deleted, which asks for the fence's end (S27).
func (d *dueList) note(f *api.NodeFence, now time.Time) {
	old, known := d.byNode[f.Spec.NodeName]
	if !f.Open() {
		delete(d.byNode, f.Spec.NodeName)
		return
	}
	if known && old.fence.ResourceVersion == f.ResourceVersion && old.fence.UID == f.UID {
		old.fence = f
		return
	}
	at := now
	switch next := f.Status.NextLook; {
	case asked(old, f):
	case known && next != nil && !next.After(now):
		// The function that wrote this is still working, or has replied with the next
		// event. The source sends an event only if that reply was lost.
		at = now.Add(replyGrace)
	case next != nil:
		at = next.Time
	}
	x := &due{fence: f, at: at}
	if known && old.fence.UID == f.UID {
		x.hurried = old.hurried
		if f.CurrentPhase() == api.Pending {
			x.hurry, x.counted = old.hurry, old.counted // else it goes on, and nothing holds it
		}
	}
	d.byNode[f.Spec.NodeName] = x
}

// replyGrace is how long a function's own reply may take to arrive.
const replyGrace = time.Second

// asked reports whether a person has just asked for something: then the fence is due at
// once.
func asked(old *due, f *api.NodeFence) bool {
	if f.DeletionTimestamp != nil {
		return old == nil || old.fence.DeletionTimestamp == nil
	}
	return old != nil && !equality.Semantic.DeepEqual(old.fence.Spec.Requests, f.Spec.Requests)
}

func (d *dueList) drop(node string) { delete(d.byNode, node) }

// wakeUp is one NodeFence to send, with the due time that makes the event's ID.
type wakeUp struct {
	fence   *api.NodeFence
	at      time.Time
	counted <-chan struct{}
}

// take returns what is due. Each fence becomes due again one resync later, with another due
// time, so that no broker drops the wake-up as a duplicate (S19: a lost event costs time
// only).
func (d *dueList) take(now time.Time) []wakeUp {
	var out []wakeUp
	for _, x := range d.byNode {
		if !x.hurry.IsZero() && !x.hurry.After(now) {
			out = append(out, wakeUp{x.fence, x.hurry, x.counted})
			x.hurry, x.hurried, x.counted = time.Time{}, now, nil
			continue
		}
		if x.at.After(now) {
			continue
		}
		out = append(out, wakeUp{fence: x.fence, at: x.at})
		for !x.at.After(now) {
			x.at = x.at.Add(d.resync)
		}
	}
	return out
}

// next returns the earliest due time; zero if there is none.
func (d *dueList) next() time.Time {
	var first time.Time
	for _, x := range d.byNode {
		if first.IsZero() || x.at.Before(first) {
			first = x.at
		}
		if !x.hurry.IsZero() && x.hurry.Before(first) {
			first = x.hurry
		}
	}
	return first
}

const (
	// hurryAfter is the delay that joins changes which come together.
	hurryAfter = 300 * time.Millisecond
	// hurryPace is the least time between two fences that are woken for one change. Between
	// two wake-ups of one fence lie at least hurryGap, and hurryPace for each fence that
	// waits.
	hurryPace = 50 * time.Millisecond
	hurryGap  = 2 * time.Second
)

// hurryAll makes each fence that waits with the gate, and that may go on now, due soon, unless it is
// due sooner.
func (d *dueList) hurryAll(may func(*api.NodeFence) bool, now time.Time) {
	var waits []*due
	for _, x := range d.byNode {
		if x.fence.CurrentPhase() == api.Pending && may(x.fence) {
			waits = append(waits, x)
		}
	}
	slices.SortFunc(waits, func(a, b *due) int { return strings.Compare(a.fence.Spec.NodeName, b.fence.Spec.NodeName) })
	gap := max(hurryGap, time.Duration(len(waits))*hurryPace)
	for i, x := range waits {
		at := now.Add(hurryAfter + time.Duration(i)*hurryPace)
		if again := x.hurried.Add(gap); at.Before(again) {
			at = again
		}
		if x.hurry.IsZero() || at.Before(x.hurry) {
			x.hurry = at
		}
	}
}

// whichever it is, the fence may go on.
func whichever(*api.NodeFence) bool { return true }

// waitsForNoSlot: what holds the fence is not that others have all slots. A node that is healthy again
// frees none, so it wakes only these: where a hundred nodes fail and ten are fenced at a time, each that
// came back would otherwise have ninety fences ask in vain.
func waitsForNoSlot(f *api.NodeFence) bool { return f.Status.Reason != api.TooManyConcurrent }

// nextOnes is how many fences one free slot wakes. The one that has waited longest may be held by
// another limit too, such as that of its zone.
const nextOnes = 2

// hurryNext makes those due now that have waited longest for a slot, or for a place in a budget, since
// this fence has given its own back. Those that one policy counts together with it come first: the
// slots of another policy are not free now. One that was just woken comes last, and as late as two
// wake-ups lie apart: it may have asked before the slot was free. A gate that they reach before the
// census has the free slot would count it as taken, so they are sent once counted is closed.
func (d *dueList) hurryNext(freed *api.NodeFence, counted <-chan struct{}, now time.Time) {
	var waits []*due
	for _, x := range d.byNode {
		if waitsForOthers(x.fence) && (x.fence.Status.Reason == api.BudgetExhausted || !gaveBack(freed)) {
			waits = append(waits, x)
		}
	}
	slices.SortFunc(waits, func(a, b *due) int {
		return cmp.Or(
			cmp.Compare(a.justWoken(now), b.justWoken(now)),
			cmp.Compare(apart(freed, a.fence), apart(freed, b.fence)),
			openedAt(a.fence).Compare(openedAt(b.fence)),
			strings.Compare(a.fence.Spec.NodeName, b.fence.Spec.NodeName))
	})
	for _, x := range waits[:min(nextOnes, len(waits))] {
		at := now
		if again := x.hurried.Add(hurryGap); at.Before(again) {
			at = again
		}
		if x.counted = counted; x.hurry.IsZero() || at.Before(x.hurry) {
			x.hurry = at
		}
	}
}

// justWoken is 1 where the fence was woken, or is about to be, so that others come first.
func (x *due) justWoken(now time.Time) int {
	if now.Sub(x.hurried) < hurryGap || !x.hurry.IsZero() && !x.hurry.After(now) {
		return 1
	}
	return 0
}

// gaveBack: the fence, as it was before it changed, held no slot any more since its work was released. Its
// end frees none, only a place in a budget, which counts nodes that are not available.
func gaveBack(f *api.NodeFence) bool { return f.Status.Release.DoneAt != nil && !f.HoldsSlot() }

// apart is 0 where a policy's limits count both fences, and 1 where none does. A budget may count any
// two.
func apart(a, b *api.NodeFence) int {
	for _, x := range a.Status.Decision.Limits {
		for _, y := range b.Status.Decision.Limits {
			if x.Policy == y.Policy {
				return 0
			}
		}
	}
	if b.Status.Reason == api.BudgetExhausted {
		return 0
	}
	return 1
}

// waitsForOthers: the fence waits until another one is done.
func waitsForOthers(f *api.NodeFence) bool {
	return f.CurrentPhase() == api.Pending && (f.Status.Reason == api.TooManyConcurrent || f.Status.Reason == api.BudgetExhausted)
}

func openedAt(f *api.NodeFence) time.Time {
	if f.Status.OpenedAt == nil {
		return time.Time{}
	}
	return f.Status.OpenedAt.Time
}
