package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// The slot that a fence holds, or asks for, and what waits without one.

// stale sends a fence whose admission is too old back to the gate (S17).
func (d *decision) stale() outcome {
	if d.Begun() {
		return goOn
	}
	return d.outdated()
}

// outdated does so too with a fence that has begun and was given a slot anew: its step
// out of Pending may have been saved so late that the slot is another's by now (S14).
func (d *decision) outdated() outcome {
	if d.Within(d.Record.DecidedAt, d.ReservationValidity()) {
		return goOn
	}
	d.Record.DecidedAt = nil
	return d.enter(api.Pending, api.DecisionExpired, "decided too long ago; asking again")
}

// slot is when this fence's slot was reserved, by whose calls it goes on (S14); nil if it is old.
func (d *decision) slot() *time.Time {
	at, limit := d.Seen.Reserved, d.SlotCall()
	if at == nil || !observed.Fresh(*at, d.Now, d.ReservationValidity()) {
		return nil
	}
	if limit < d.Decision.CallLimit() {
		dec := *d.Decision
		dec.DeviceCallTimeout.Duration = limit
		d.Decision, d.Record.Decision.DeviceCallTimeout.Duration = &dec, limit
	}
	return at
}

// drainedFirst goes back to the gate with a node that is to be drained after all (S17).
func (d *decision) drainedFirst() outcome {
	if o := d.backUndrained(); o.decided || !d.Undrained() {
		return o
	}
	d.dropReservation()
	return d.enter(api.Pending, api.NodeDraining, "the node is drained before its machine is cut")
}

// backUndrained gives a node back that has not failed, or lives again, and whose drain was given up:
// nothing of ours stays on it, and nothing stays cut, whatever holds its fence at the gate (S22). If the
// process dies on the next line, the same is decided again.
func (d *decision) backUndrained() outcome {
	if !d.Record.Drain.GivenUp() || !d.Undrained() || !d.Marked() {
		return goOn
	}
	d.dropReservation()
	d.Record.Outcome = api.SentBack
	return d.leave(api.Recovering, api.DrainTimedOut, d.Record.Drain.Left)
}

// askGate asks for a slot, or whether a node may be drained, once the devices were resolved anew:
// as long as there is no slot, nothing of their configuration is frozen either. A person's word waits
// for reads of the devices that are bound now, also where the policy's action needs none.
func (d *decision) askGate(a Action) outcome {
	reads := d.Decision.Settings.Action.Reads() || d.ConfirmAsked()
	if !d.Seen.Resolved && reads && !d.MachineWithoutNode() {
		return d.carryOut(Resolve)
	}
	return d.carryOut(a)
}

// holdRefused waits without a slot for each device that this fence can't do without.
func (d *decision) holdRefused() outcome {
	if !d.Decision.Settings.Action.Device() {
		return goOn
	}
	for i := range d.Decision.Isolation() {
		b := &d.Decision.Isolation()[i]
		if until, ok := d.LockedOut(b); ok && b.Must && !(d.CutRecord(i) != nil && d.CutDone(i)) {
			d.isolationRecords()
			d.holdLocked(facts.Taken(*b)+": ", until, d.CutRecord(i).LastError)
			return settled
		}
	}
	return d.holdDenied()
}

// holdDenied waits for the machine's own device, without a slot.
func (d *decision) holdDenied() outcome {
	until, locked := d.Lockout()
	if !locked {
		return goOn
	}
	d.holdLocked("", until, d.Record.Power.LastError)
	return settled
}

func (d *decision) holdLocked(which string, until time.Time, last string) {
	if last != "" {
		last = "; " + last
	}
	d.stay(api.DeviceDenied, fmt.Sprintf("%s%s: asked again after %s, so that the account is not locked, or at once with a retry (spec.requests.retry)%s",
		which, facts.RefusedOften, until.UTC().Format(time.RFC3339), last), 0)
	d.wakeAt(until)
}

// awaitApproval holds for a person, without a slot, and gives up when the time for it is over. The
// person's word stands in the spec, so that it counts for this fence and not for the next.
func (d *decision) awaitApproval(about string) outcome {
	if d.Record.ApprovalSince == nil {
		d.Record.ApprovalSince = d.At(0)
	}
	until := d.Record.ApprovalSince.Add(d.Decision.Settings.ApprovalTimeout.Duration)
	if !until.After(d.Now) {
		d.Record.ApprovalSince = nil
		return d.fail(api.NotApproved, "nobody approved within "+d.Decision.Settings.ApprovalTimeout.Duration.String()+" (spec.requests.approve); a retry asks again")
	}
	d.stay(api.WaitingForApproval, about+"a person must approve (spec.requests.approve), until "+until.UTC().Format(time.RFC3339), 0)
	d.wakeAt(until)
	if until.Sub(d.Now) > facts.Resync {
		d.lookAfter(facts.Resync)
	}
	return settled
}

// A Machine that has no node is deleted where its policy says so, and its owner makes
// another one. It goes through the gate as a node of the Machine's own name that is
// missing, so that limits, mode, pauses and windows hold for it, and its record can
// mark and release nothing (S6). There is no device, no proof, and no release (S1).

// A node whose Machine is in phase Failed, or is asked to be remediated, is unhealthy
// at once where its policy expects Machines. What comes of it is a fence like any
// other, and what is done to the machine is what the node's configuration says. Once
// power was cut, or work released, the node's health alone decides, as for a request.

// machineGoes asks for the deletion, and waits for it to show. That it was asked for is
// saved before it is, and is no evidence: the list of resync's next look is.
func (d *decision) machineGoes() outcome {
	if o := d.cancel(); o.decided {
		return o
	}
	r := d.Record.Machine
	switch {
	case r != nil && d.Since(&r.AskedAt) < facts.MachineShows:
		return d.stay(api.MachineDeletionSent, d.Record.Message, facts.MachineShows-d.Since(&r.AskedAt))
	case r != nil && r.Tries >= d.Attempts():
		return d.fail(api.MachineNotDeleted, fmt.Sprintf("Machine %s was to be deleted %d times, and is still listed", d.Decision.Trigger.Machine.String(), r.Tries))
	}
	if o := d.stale(); o.decided {
		return o
	}
	if !d.Seen.Brakes.Counted {
		return d.stay(d.Record.Reason, d.Record.Message, facts.Handover) // not asked again is no yes (S15)
	}
	tries := int32(1)
	if r != nil {
		tries = r.Tries + 1
	}
	d.Record.Machine = &api.MachineRecord{AskedAt: d.Time(), Tries: tries}
	d.tell(api.MachineDeletionSent, fmt.Sprintf("deleting Machine %s (try %d of %d)", d.Decision.Trigger.Machine.String(), tries, d.Attempts()))
	return d.carryOut(DeleteMachine)
}
