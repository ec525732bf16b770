package due

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// dueList keeps when each open NodeFence is due to be looked at.
type dueList struct {
	resync time.Duration
	// labels has those of a node.
	labels func(node string) map[string]string
	byNode map[string]*due
}

type due struct {
	fence *api.NodeFence
	at    time.Time
	// wakeAt is an earlier due time, set because the hold on the fence may have ended; zero
	// if there is none. wokenAt is when the fence was last sent for this reason.
	wakeAt, wokenAt time.Time
	// counted, if set, is closed once the ledger's census has what ended the hold, and asked is when
	// that was asked for.
	counted <-chan struct{}
	asked   time.Time
}

func newDueList(resync time.Duration, labels func(node string) map[string]string) *dueList {
	return &dueList{resync: resync, labels: labels, byNode: map[string]*due{}}
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
		x.wokenAt = old.wokenAt
		if f.CurrentPhase() == api.Pending {
			x.wakeAt, x.counted, x.asked = old.wakeAt, old.counted, old.asked // else it goes on, and nothing holds it
		}
	}
	d.byNode[f.Spec.NodeName] = x
	if known && old.fence.UID == f.UID {
		d.wakeInstead(old, f, now)
	}
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
// only). A due time that lies further ahead may be of a clock that was set back since: no fence waits
// for longer than a resync (S30).
func (d *dueList) take(now time.Time) []wakeUp {
	var out []wakeUp
	for _, x := range d.byNode {
		if last := now.Add(d.resync); x.at.After(last) {
			x.at = last
		}
		if !x.wakeAt.IsZero() && !x.wakeAt.After(now) {
			out = append(out, wakeUp{x.fence, x.wakeAt, x.counted})
			x.wakeAt, x.wokenAt = time.Time{}, now
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
		if !x.wakeAt.IsZero() && x.wakeAt.Before(first) {
			first = x.wakeAt
		}
	}
	return first
}
