package fence

import (
	"cmp"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// fencing makes sure that the machine is off, and proves it: read; off where it
// reads on; then seen off twice, a settle apart.
func (d *decision) fencing() outcome {
	return first(d.ended, d.machineFirst, d.probedAnew, d.weighWord, d.leaveRefuted, d.endsAwaited, d.cancel, d.stale, d.drainedFirst, d.livesAgain, d.noDevice, d.makeSure)
}

// machineFirst deletes a Machine that has no node. No device is asked.
func (d *decision) machineFirst() outcome {
	if d.MachineWithoutNode() {
		return d.machineGoes()
	}
	return goOn
}

// livesAgain releases nothing more of a machine that lives.
func (d *decision) livesAgain() outcome {
	alive := d.AliveAgain()
	if alive == "" {
		return goOn
	}
	d.switchedOnByOther()
	return d.leave(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
}

// noDevice goes back to waiting for a person, whose word was not believed, or is not there
// any more.
func (d *decision) noDevice() outcome {
	if d.Decision.Settings.Action.Reads() && d.Decision.Power(0) != nil {
		return goOn
	}
	return d.enter(api.Pending, api.WaitingForConfirmation, "no device to ask: back to waiting for a person")
}

// makeSure reads the machine's device and, where it reads on, switches it off.
func (d *decision) makeSure() outcome {
	if d.Record.BootIDBefore != d.Seen.Node.BootID {
		// First look, or it rebooted by itself: the proof is about this boot (S3).
		d.Record.BootIDBefore, d.Record.Power.FirstOff = d.Seen.Node.BootID, nil
	}
	said := d.power().response()
	if said.notOff() && d.MustNotSwitch() {
		return d.standDown()
	}
	switch said {
	case wrongMachine:
		return d.fail(api.WrongMachine, d.AnswersForAnother())
	case readsOff:
		return d.seenOff(d.Record.Power.LastRead)
	case readsOn:
		return d.seenOnInFencing()
	case stopping:
		return d.stoppingInFencing()
	case unknown:
		return d.retry(cmp.Or(d.Seen.Call.Why, api.DeviceFailed), d.Record.Power.LastError)
	}
	if d.Refused {
		d.Record.Power.OffAt = nil // there is no effect to wait for
		return d.retry(api.DeviceFailed, "power-off: "+d.Record.Power.OffError)
	}
	return d.readOrOff()
}

// stoppingInFencing waits for a machine that goes down by our Off, or by another's: it gets
// none then (S12), and its device has not failed.
func (d *decision) stoppingInFencing() outcome {
	if d.Since(d.Record.PhaseSince) < facts.StopTakes {
		return d.power().wait(facts.Poll)
	}
	return d.retry(cmp.Or(d.Seen.Call.Why, api.DeviceFailed), d.Record.Power.LastError)
}

// seenOnInFencing: off it, or wait for the Off to take effect.
func (d *decision) seenOnInFencing() outcome {
	switch {
	case d.Record.Release.StartedAt != nil:
		// Somebody switched it on after its work was released: its kubelet
		// starts what is left, and nothing more is taken from it (S4).
		d.switchedOnByOther()
		return d.leave(api.Recovering, api.SignOfLife, "the machine was switched on by somebody else")
	case d.Record.Awaited != nil:
		return d.onAfterAll()
	case d.Record.Power.OffAt == nil:
		d.tell(api.MachineReadOn, "the machine is on")
		return d.readOrOff()
	case d.power().shows(d.Record.Power.OffAt):
		return d.power().wait(facts.Poll)
	}
	d.Record.Power.OffAt = nil
	msg := "power-off was sent, and the machine still reads on after " + d.OffTimeout().String()
	if e := d.Record.Power.OffError; e != "" {
		msg += "; it was answered with: " + e
	}
	return d.retry(api.PowerOffNotSeen, msg)
}

// seenOff makes the proof of two reads (S1, S5).
func (d *decision) seenOff(r *api.Read) outcome {
	p := &d.Record.Power
	if p.FirstOff != nil && d.onlyRemembered(p.FirstOff, r) {
		p.FirstOff = nil
	}
	if p.FirstOff == nil {
		if p.OffAt == nil {
			p.LeaseFresh = d.LeaseFresh()
		}
		p.FirstOff = r.DeepCopy()
		d.tell(api.MachineReadOff, "the machine reads off; looking again in "+d.SettleTime().String())
		return d.power().wait(d.SettleTime())
	}
	if d.LeaseMovedSince(p.FirstOff.At) {
		p.FirstOff = nil
		return d.retry(api.SignOfLife, "the device says off, and the node's Lease moves")
	}
	if left := d.power().untilSecond(d.SettleTime()); left > 0 {
		return d.power().wait(left)
	}
	first := p.FirstOff
	if d.Record.Release.StartedAt != nil {
		d.Record.Retries = 0 // before that a sign of life may show that the last Off did nothing
	}
	d.proveOff(first, r)
	return d.enter(api.Releasing, api.SeenOff, "the machine was seen off twice, "+r.At.Sub(first.At.Time).Round(time.Millisecond).String()+" apart")
}

// readOrOff chooses the next call to the device.
func (d *decision) readOrOff() outcome {
	if d.Lost && d.Record.Awaited == nil && d.Record.Retries >= d.Attempts() {
		return d.retry(api.CallLost, d.Record.Message) // it was the last try of this step
	}
	toSwitch := d.FreshlyRead(api.PoweredOn) && d.Record.Awaited == nil && !d.MustNotSwitch() && d.Record.Release.StartedAt == nil
	return d.power().next(toSwitch, d.Record.Power.OffAt, func() outcome {
		return first(d.againstOff, d.askApproval, d.againstFurtherOff, d.notCounted, d.spareDump, d.accessFirst, d.powerLater, d.cutPower)
	})
}
