package fence

import (
	"cmp"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// fencing makes sure that the machine is off, and proves it: read; off where it
// reads on; then seen off twice, a settle apart.
func (d *decision) fencing() outcome {
	return first(d.ended, d.fencingWithout, d.endsAwaited, d.calledOff, d.stale, d.livesAgain, d.noDevice, d.makeSure)
}

// fencingWithout is for what is not made sure of by switching the machine: a Machine that
// has no node, a read as a check or for a Lease alone, and a person's word.
func (d *decision) fencingWithout() outcome {
	switch {
	case d.machineWithoutNode():
		return d.machineGoes()
	case d.reading():
		return d.witness()
	case d.probing():
		return d.peek()
	case d.confirmAsked():
		return d.confirmed()
	}
	return goOn
}

// livesAgain releases nothing more of a machine that lives.
func (d *decision) livesAgain() outcome {
	alive := d.aliveAgain()
	if alive == "" {
		return goOn
	}
	d.switchedOnByOther()
	return d.enter(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
}

// noDevice goes back to waiting for a person, whose word was not believed, or is not there
// any more.
func (d *decision) noDevice() outcome {
	if d.dec.Settings.Action.Reads() && d.dec.Power(0) != nil {
		return goOn
	}
	return d.enter(api.Pending, api.WaitingForConfirmation, "no device to ask: back to waiting for a person")
}

// makeSure reads the machine's device and, where it reads on, switches it off.
func (d *decision) makeSure() outcome {
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
	p := &d.st.Power
	if d.freshlyRead(api.PoweredOn) && d.st.Awaited == nil && !d.mustNotSwitch() && p.OffAt == nil && d.st.Release.StartedAt == nil {
		return first(d.againstOff, d.againstFurtherOff, d.notCounted, d.spareDump, d.accessFirst, d.cutPower)
	}
	return d.call(api.CallRead)
}
