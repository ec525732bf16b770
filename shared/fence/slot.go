package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// The slot that a fence holds, or asks for, and what waits without one.

// stale sends a fence whose yes is too old back to the gate (S17).
func (d *decision) stale() outcome {
	if d.begun() {
		return goOn
	}
	return d.outdated()
}

// outdated does so too with a fence that has begun and was given a slot anew: its step
// out of Pending may have been saved so late that the slot is another's by now (S14).
func (d *decision) outdated() outcome {
	if d.within(d.st.DecidedAt, DecisionValidity) {
		return goOn
	}
	d.st.DecidedAt = nil
	return d.enter(api.Pending, api.DecisionExpired, "decided too long ago; asking again")
}

// askSlot asks for a slot, once the devices were resolved anew: as long as there is none,
// nothing of their configuration is frozen either.
func (d *decision) askSlot() outcome {
	if !d.seen.Resolved && d.dec.Settings.Action.Reads() && !d.machineWithoutNode() && !d.confirmAsked() {
		return d.carryOut(Resolve)
	}
	return d.carryOut(Reserve)
}

// holdRefused waits without a slot for each device that this fence can't do without.
func (d *decision) holdRefused() outcome {
	if !d.dec.Settings.Action.Device() {
		return goOn
	}
	for i := range d.dec.Isolation() {
		b := &d.dec.Isolation()[i]
		if until, ok := d.lockedOut(b); ok && b.Must && !(d.record(i) != nil && d.cutDone(i)) {
			d.isolationRecords()
			d.holdLocked(taken(*b)+": ", until, d.record(i).LastError)
			return settled
		}
	}
	return d.holdDenied()
}

// holdDenied waits for the machine's own device, without a slot.
func (d *decision) holdDenied() outcome {
	until, locked := d.lockout()
	if !locked {
		return goOn
	}
	d.holdLocked("", until, d.st.Power.LastError)
	return settled
}

func (d *decision) holdLocked(which string, until time.Time, last string) {
	if last != "" {
		last = "; " + last
	}
	d.stay(api.DeviceDenied, fmt.Sprintf("%s%s: asked again after %s, so that the account is not locked, or at once with a retry (spec.requests.retry)%s",
		which, refusedOften, until.UTC().Format(time.RFC3339), last), 0)
	d.wakeAt(until)
}

// awaitApproval holds for a person, without a slot, and gives up when the time
// for it is over. The person's word stands in the spec, so that it counts for
// this fence and not for the next.
func (d *decision) awaitApproval(about string) outcome {
	if d.st.ApprovalSince == nil {
		d.st.ApprovalSince = d.at(0)
	}
	until := d.st.ApprovalSince.Add(d.dec.Settings.ApprovalTimeout.Duration)
	if !until.After(d.now) {
		d.st.ApprovalSince = nil
		return d.fail(api.NotApproved, "nobody approved within "+d.dec.Settings.ApprovalTimeout.Duration.String()+" (spec.requests.approve); a retry asks again")
	}
	d.stay(api.WaitingForApproval, about+"a person must approve (spec.requests.approve), until "+until.UTC().Format(time.RFC3339), 0)
	d.wakeAt(until)
	if until.Sub(d.now) > Resync {
		d.lookAfter(Resync)
	}
	return settled
}
