package admission

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Admit counts, decides and reserves on the ledger that it is given, and
// changes nothing else: the caller writes that ledger by compare-and-swap, so
// that the three are one atomic step (S14). A nil verdict means reserved. now is from
// before the picture was taken.
func Admit(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	if v := refused(f, c, l, now, toBegin...); v != nil {
		return v
	}
	reserve(f, c, l, now)
	return nil
}

// AdmitDrain asks all that Admit asks, and whether one more node may drain. It reserves no slot: what
// it writes is that the node drains, so that another who asks counts it. That is as exact as the
// slots are: the two are one atomic step.
func AdmitDrain(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	if v := refused(f, c, l, now, append(slices.Clone(toBegin), roomToDrain)...); v != nil {
		return v
	}
	r := reservation(f, c, now)
	l.Status.Draining = put(l.Status.Draining, r, func(old api.Reservation) bool { return old.NodeName == r.NodeName })
	if underWayOf(l.Status.UnderWay, f) == nil {
		place(l, f, c, nil)
	}
	return nil
}

type limit func(*api.NodeFence, Picture, *api.FenceLedger, time.Time) *observed.Verdict

// toBegin are the limits of each fence that begins, in the order in which they are asked.
var toBegin = []limit{lookBack, room, rate, budgets, quorum}

// refused returns the reason why a fence may not begin now; nil if the fence may begin.
func refused(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time, limits ...limit) *observed.Verdict {
	if v := heldNow(f, c, l, now); v != nil {
		return v
	}
	for _, limit := range limits {
		if v := limit(f, c, l, now); v != nil {
			return v
		}
	}
	return nil
}

// heldNow brings the ledger to date, and returns what holds a fence before any limit is asked; nil if nothing does.
// The count is separate from the answer: the ledger is brought to date, and storms begin there, whichever reason is
// returned (S15). The cool-down of a storm begins and ends on a picture on which a fence may begin, and on no other.
func heldNow(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) *observed.Verdict {
	rebuild(l, c, now)
	rebuildDraining(l, c, now)
	rebuildDryRuns(l, c, now)
	placeSlots(l, c)
	placeUnderWay(l, c)
	forAll := heldForAll(l, now)
	storm := calm(f, c, l, forAll == nil, now)
	if releaseVouched(f, l, now) != nil {
		storm = nil
	}
	return firstVerdict(forAll, uncountedUnder(f, c), storm)
}

// firstVerdict returns the first verdict that is not nil.
func firstVerdict(all ...*observed.Verdict) *observed.Verdict {
	for _, v := range all {
		if v != nil {
			return v
		}
	}
	return nil
}

// uncountedUnder holds a fence under a policy whose missing nodes nobody can count; nil if there is none.
func uncountedUnder(f *api.NodeFence, c Picture) *observed.Verdict {
	for _, lim := range f.Status.Decision.Limits {
		if words := c.uncounted(lim.Policy); words != "" {
			return refuse(api.TooManyUnhealthy, words, askStorm)
		}
	}
	return nil
}

// rebuild drops reservations whose fence is gone, closed or released, and puts
// back those of running fences that a lost ledger has forgotten (S14).
//
// A fence that is seen Pending here may be going on at this moment, by the clock of
// another gate. So its reservation is dropped only once no gate can go on with it: now is
// from before the fences were read, and slotKept is longer than a yes is valid by
// more than two clocks lie apart. A gate that saves its step later still finds its fence
// sent back for its old yes (S17). One of the future, as the clock was set back, is kept
// too: how old it is is known to nobody, and the fence's next yes takes its place.
func rebuild(l *api.FenceLedger, c Picture, now time.Time) {
	old, asOf := l.Status.Reservations, now
	if !c.AsOf.IsZero() {
		asOf = c.AsOf
	}
	l.Status.Reservations = nil
	for i := range c.Fences {
		f := &c.Fences[i]
		r, found := reservationOf(old, f)
		if found && r.FenceVersion == "" {
			r.FenceVersion = f.ResourceVersion // the slot does not say which record it was reserved for
		}
		forgetGivenBack(l, f)
		switch {
		case f.HoldsSlot():
			if !found {
				// With the time of its own yes: were it younger, a fence that is sent back
				// for its old yes would find a new one here that nobody gave (S17).
				r = api.Reservation{NodeName: f.Spec.NodeName, FenceUID: f.UID, FenceNumber: f.Status.FenceNumber, At: observed.StampOf(now), FenceVersion: f.ResourceVersion, DeviceCallTimeout: f.Status.Decision.LongerCall()}
				if yes := f.Status.DecidedAt; yes != nil {
					r.At = *yes
				}
			}
			l.Status.Reservations = append(l.Status.Reservations, r)
		case found && !f.CurrentPhase().Known():
			// A newer nodefence knows whether this phase takes a slot (S21).
			l.Status.Reservations = append(l.Status.Reservations, r)
		case f.CurrentPhase() == api.Pending && found && asOf.Sub(r.At.Time) <= slotKept(r)+c.Apart && !givenBack(r, f):
			l.Status.Reservations = append(l.Status.Reservations, r)
		}
	}
}

// forgetGivenBack takes a fence that did not come about out of the policies' rates.
func forgetGivenBack(l *api.FenceLedger, f *api.NodeFence) {
	if at := f.Status.GivenBack; at != nil && !facts.Served(&f.Status) {
		l.Status.Admitted = slices.DeleteFunc(l.Status.Admitted, func(a api.Reservation) bool {
			return a.FenceUID == f.UID && a.FenceNumber == f.Status.FenceNumber && a.At.Time.Equal(at.Time)
		})
	}
}

func reserve(f *api.NodeFence, c Picture, l *api.FenceLedger, now time.Time) {
	r := reservation(f, c, now)
	l.Status.Reservations = put(l.Status.Reservations, r, func(old api.Reservation) bool { return old.NodeName == r.NodeName })
	if underWayOf(l.Status.UnderWay, f) == nil {
		place(l, f, c, nil)
	}
	begins(f, r, l, now)
}

// ReservedCall is the longest device call for which this fence's slot was reserved; zero is the
// usual one.
func ReservedCall(l *api.FenceLedger, f *api.NodeFence) time.Duration {
	if r, ok := reservationOf(l.Status.Reservations, f); ok && r.DeviceCallTimeout != nil {
		return r.CallLimit()
	}
	return 0
}
