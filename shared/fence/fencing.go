package fence

import (
	"cmp"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// fencing makes sure that the machine is off, and proves it: read; off where it
// reads on; then seen off twice, a settle apart.
func (d *decision) fencing() outcome {
	return first(d.ended, d.leftFromCheck, d.machineFirst, d.probedAnew, d.believed, d.endsAwaited, d.calledOff, d.stale, d.livesAgain, d.noDevice, d.makeSure)
}

// leftFromCheck gives back the read that an older nodefence made here for the activity checks.
// It was no yes to anything else (S17).
func (d *decision) leftFromCheck() outcome {
	a := d.st.ActivityChecks
	if a == nil || !a.Reading || d.begun() {
		return goOn
	}
	a.Reading = false
	d.giveBack()
	return d.enter(api.Pending, api.CheckingActivity, "the machine is read anew for the activity checks")
}

// machineFirst deletes a Machine that has no node. No device is asked.
func (d *decision) machineFirst() outcome {
	if d.machineWithoutNode() {
		return d.machineGoes()
	}
	return goOn
}

// believed takes a person's word, where there is one.
func (d *decision) believed() outcome {
	if d.confirmAsked() {
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
	return d.leave(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
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
	said := d.power().response()
	if said.notOff() && d.mustNotSwitch() {
		return d.standDown()
	}
	switch said {
	case wrongMachine:
		return d.fail(api.WrongMachine, d.answersForAnother())
	case readsOff:
		return d.seenOff(d.st.Power.LastRead)
	case readsOn:
		return d.seenOnInFencing()
	case stopping:
		return d.stoppingInFencing()
	case unknown:
		return d.retry(cmp.Or(d.seen.Call.Why, api.DeviceFailed), d.st.Power.LastError)
	}
	if d.refused {
		d.st.Power.OffAt = nil // there is no effect to wait for
		return d.retry(api.DeviceFailed, "power-off: "+d.st.Power.OffError)
	}
	return d.readOrOff()
}

// stoppingInFencing waits for a machine that goes down by our Off, or by another's: it gets
// none then (S12), and its device has not failed.
func (d *decision) stoppingInFencing() outcome {
	if d.since(d.st.PhaseSince) < StopTakes {
		return d.power().wait(Poll)
	}
	return d.retry(cmp.Or(d.seen.Call.Why, api.DeviceFailed), d.st.Power.LastError)
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

// seenOnInFencing: off it, or wait for the Off to take effect.
func (d *decision) seenOnInFencing() outcome {
	switch {
	case d.st.Release.StartedAt != nil:
		// Somebody switched it on after its work was released: its kubelet
		// starts what is left, and nothing more is taken from it (S4).
		d.switchedOnByOther()
		return d.leave(api.Recovering, api.SignOfLife, "the machine was switched on by somebody else")
	case d.st.Awaited != nil:
		return d.onAfterAll()
	case d.st.Power.OffAt == nil:
		d.tell(api.MachineReadOn, "the machine is on")
		d.lookAfter(0)
		return settled
	case d.power().shows(d.st.Power.OffAt):
		return d.power().wait(Poll)
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
	p := &d.st.Power
	if p.FirstOff != nil && d.onlyRemembered(p.FirstOff, r) {
		p.FirstOff = nil
	}
	if p.FirstOff == nil {
		if p.OffAt == nil {
			p.LeaseFresh = d.leaseFresh()
		}
		p.FirstOff = r.DeepCopy()
		d.tell(api.MachineReadOff, "the machine reads off; looking again in "+d.settleTime().String())
		return d.power().wait(d.settleTime())
	}
	if d.leaseMovedSince(p.FirstOff.At) {
		p.FirstOff = nil
		return d.retry(api.SignOfLife, "the device says off, and the node's Lease moves")
	}
	if left := d.power().untilSecond(d.settleTime()); left > 0 {
		return d.power().wait(left)
	}
	first := p.FirstOff
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

// readOrOff chooses the next call to the device.
func (d *decision) readOrOff() outcome {
	if d.lost && d.st.Awaited == nil && d.st.Retries >= d.attempts() {
		return d.retry(api.CallLost, d.st.Message) // it was the last try of this step
	}
	toSwitch := d.freshlyRead(api.PoweredOn) && d.st.Awaited == nil && !d.mustNotSwitch() && d.st.Release.StartedAt == nil
	return d.power().next(toSwitch, d.st.Power.OffAt, func() outcome {
		return first(d.againstOff, d.againstFurtherOff, d.notCounted, d.spareDump, d.accessFirst, d.cutPower)
	})
}
