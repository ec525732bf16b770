package fence

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// fencing makes sure that the machine is off, and proves it: read; off where it
// reads on; then seen off twice, a settle apart.
func (d *decision) fencing() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if d.machineWithoutNode() {
		return d.machineGoes()
	}
	if d.reading() {
		return d.witness()
	}
	if d.probing() {
		return d.peek()
	}
	if d.confirmAsked() {
		return d.confirmed()
	}
	if o := d.endsAwaited(); o.decided {
		return o
	}
	if o := first(d.calledOff, d.stale); o.decided {
		return o
	}
	if alive := d.aliveAgain(); alive != "" {
		d.switchedOnByOther()
		return d.enter(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
	}
	if !d.dec.Settings.Action.Reads() || d.dec.Power(0) == nil {
		// The person's word was not believed, or is not there any more.
		return d.enter(api.Pending, api.WaitingForConfirmation, "no device to ask: back to waiting for a person")
	}
	if d.st.BootIDBefore != d.seen.Node.BootID {
		// First look, or it rebooted by itself: the proof is about this boot (S3).
		d.st.BootIDBefore, d.st.Power.FirstOff = d.seen.Node.BootID, nil
	}
	if c := d.callEnd; c != nil && c.Wrong {
		return d.fail(api.WrongMachine, "the device answers for machine "+c.machine()+", bound is "+d.bound())
	}
	if d.refused {
		d.st.Power.OffAt = nil // there is no effect to wait for
		return d.retry(api.DeviceFailed, "power-off: "+d.st.Power.OffError)
	}
	if d.justRead() {
		return d.judge()
	}
	return d.readOrOff()
}

// aliveAgain names what shows that a machine of which work was released lives, while
// a proof is to be made anew (S3, S4, S23).
func (d *decision) aliveAgain() string {
	switch n := d.seen.Node; {
	case d.st.Release.StartedAt == nil || !n.Exists:
		return ""
	case d.st.BootIDBefore != "" && n.BootID != d.st.BootIDBefore:
		return "boot ID changed"
	case d.st.PhaseSince != nil && d.leaseMovedSince(*d.st.PhaseSince):
		return "the node's Lease moved"
	}
	return ""
}

// judge takes a fresh reading.
func (d *decision) judge() outcome {
	r := d.st.Power.LastRead
	if r.State != api.PoweredOff && d.mustNotSwitch() {
		return d.standDown()
	}
	switch r.State {
	case api.PoweredOff:
		return d.seenOff(r)
	case api.PoweredOn:
		return d.seenOnInFencing()
	}
	if d.seen.Call.Stopping && d.since(d.st.PhaseSince) < StopTakes {
		// By our Off or another's: it gets none (S12), and the device has not failed.
		d.wait(Poll)
		return settled
	}
	return d.retry(cmp.Or(d.seen.Call.Why, api.DeviceFailed), d.st.Power.LastError)
}

// seenOnInFencing: off it, or wait for the Off to take effect.
func (d *decision) seenOnInFencing() outcome {
	switch {
	case d.st.Release.StartedAt != nil:
		// Somebody switched it on after its work was released: its kubelet
		// starts what is left, and nothing more is taken from it (S4).
		d.switchedOnByOther()
		return d.enter(api.Recovering, api.SignOfLife, "the machine was switched on by somebody else")
	case d.st.Awaited != nil:
		return d.onAfterAll()
	case d.st.Power.OffAt == nil:
		d.tell(api.MachineReadOn, "the machine is on")
		d.lookAfter(0)
		return settled
	case d.since(d.st.Power.OffAt) < d.offTimeout():
		d.wait(Poll)
		return settled
	}
	d.st.Power.OffAt = nil
	msg := "power-off was sent, and the machine still reads on after " + d.offTimeout().String()
	if e := d.st.Power.OffError; e != "" {
		msg += "; it was answered with: " + e
	}
	return d.retry(api.PowerOffNotSeen, msg)
}

// seenOff makes the proof of two reads (S1, S5).
func (d *decision) seenOff(r *api.Read) outcome {
	first := d.st.Power.FirstOff
	if first != nil && d.onlyRemembered(first, r) {
		first = nil
	}
	if first == nil {
		if d.st.Power.OffAt == nil {
			d.st.Power.LeaseFresh = d.leaseFresh()
		}
		d.st.Power.FirstOff = r.DeepCopy()
		d.tell(api.MachineReadOff, "the machine reads off; looking again in "+d.settle().String())
		d.wait(d.settle())
		return settled
	}
	if d.leaseMovedSince(first.At) {
		d.st.Power.FirstOff = nil
		return d.retry(api.SignOfLife, "the device says off, and the node's Lease moves")
	}
	if left := d.settle() - r.At.Sub(first.At.Time); left > 0 {
		d.wait(left)
		return settled
	}
	if d.st.Release.StartedAt != nil {
		d.st.Retries = 0 // before that a sign of life may show that the last Off did nothing
	}
	d.proveOff(first, r)
	return d.enter(api.Releasing, api.SeenOff, "the machine was seen off twice, "+r.At.Sub(first.At.Time).Round(time.Millisecond).String()+" apart")
}

// confirmed takes a named person's word for the machine being off (S1).
func (d *decision) confirmed() outcome {
	c := d.requests.ConfirmOff
	switch {
	case d.leaseFresh():
		d.answer(api.AskedConfirmOff, &c.Request, api.Refused, "the node's Lease moves: the machine is not off")
		return d.stay(api.SignOfLife, c.By+" confirmed that the machine is off, but its Lease moves: not believed", Handover)
	case d.leaseGone():
		d.answer(api.AskedConfirmOff, &c.Request, api.Refused, "the node's Lease moved a moment ago, and is gone now: nobody can tell that the machine is off")
		return d.stay(api.SignOfLife, c.By+" confirmed that the machine is off, but its Lease moved a moment ago, and is gone now: not believed", Handover)
	}
	d.answer(api.AskedConfirmOff, &c.Request, api.Done, "taken for the proof that the machine is off")
	d.proveByWord(c.By)
	return d.enter(api.Releasing, api.ConfirmedOff, c.By+" confirmed that the machine is off")
}

// readOrOff chooses the next word with the device.
func (d *decision) readOrOff() outcome {
	if d.lost && d.st.Awaited == nil && d.st.Retries >= d.attempts() {
		return d.retry(api.CallLost, d.st.Message) // it was the last try of this step
	}
	if o := first(d.calledAlready, d.tooSoon); o.decided {
		return o
	}
	if d.freshlyRead(api.PoweredOn) && d.st.Awaited == nil && !d.mustNotSwitch() && d.st.Power.OffAt == nil && d.st.Release.StartedAt == nil {
		if d.seen.Self {
			return d.stay(api.OwnMachine, "nodefence runs on this node; another replica must cut its power", Handover) // S13
		}
		if d.st.Power.SwitchedByUs {
			if o := d.recovered(); o.decided {
				return o // what we sent did nothing, and there is no reason for more (S17)
			}
		}
		if d.st.Power.SwitchedByUs && d.braking() {
			if o := d.endBegun(); o.decided {
				return o // no word of ours will switch it off (S27)
			}
			return d.heldOff() // S25
		}
		if !d.seen.Brakes.Counted {
			return d.stay(d.st.Reason, d.st.Message, Handover) // not asked again is no yes (S13, S15)
		}
		if o := d.spareDump(); o.decided {
			return o
		}
		if d.cutsBeforePower() {
			d.isolationRecords()
			if d.uncut() {
				return d.enter(api.Isolating, api.Admitted, "it is not the Lease alone any more: storage and network first")
			}
		}
		d.st.Power.LeaseFresh = d.leaseFresh()
		d.st.Power.OffAt, d.st.Power.OffError = d.at(0), ""
		d.st.Power.OffCalls++
		if !d.st.Power.SwitchedByUs {
			d.countCut()
		}
		d.noteCut()
		d.st.Power.CutAt = d.at(0)
		d.st.Power.SwitchedByUs = true // saved with the intent, after a read of on (S12)
		d.tell(api.PowerOffSent, fmt.Sprintf("cutting the power, call number %d", d.st.Power.OffCalls))
		return d.call(api.CallOff)
	}
	return d.call(api.CallRead)
}

// recovered: the node's own health began this fence, and it is healthy again since our
// last Off was sent. What was asked for is done, healthy or not.
func (d *decision) recovered() outcome {
	if d.dec.Asker() != nil || d.dec.Trigger.OfMachine() || !d.healthySince(d.st.Power.CutAt) {
		return goOn
	}
	d.nodeRecovered()
	return settled
}
