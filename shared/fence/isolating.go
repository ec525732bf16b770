package fence

import (
	"cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// isolating places taint and cordon, and cuts off what is to be cut when they are seen.
func (d *decision) isolating() outcome {
	if o := first(d.ended, d.cancel, d.admissionTooOld, d.endsAwaited, d.drainedFirst); o.decided {
		return o
	}
	touches := d.Decision.Settings.Action.Device() || d.ConfirmAsked()
	switch {
	case d.Missing() && touches:
		return d.cutOff("there is no Node object on which work could be placed")
	case d.Missing():
		return d.leave(api.Fenced, api.IsolatedOnly, facts.NoDeviceTouched)
	case !d.Seen.Node.Taint:
		return d.mark()
	case d.Decision.Settings.Action == api.ActionIsolate && !d.ConfirmAsked():
		return d.leave(api.Fenced, api.IsolatedOnly, facts.NoDeviceTouched)
	case d.dumpProves():
		return d.toDump()
	}
	return d.cutOff("no new work is placed on this node")
}

// admissionTooOld sends a fence back whose admission is too old. A release that was begun goes on to its end, whatever the
// age of the admission (S25): a proof by storage alone is made anew here while its pods go one by one.
func (d *decision) admissionTooOld() outcome {
	if d.Record.Release.StartedAt != nil || d.Record.Awaited != nil {
		return goOn
	}
	return d.outdated()
}

// mark places taint and cordon. What was there before is written down before it is changed
// (S22). A cordon that nodefence set last is of a record that was lost: it goes with this one. Where
// that was done, and the marks were not placed yet, somebody else may have cordoned the node since.
func (d *decision) mark() outcome {
	n := d.Seen.Node
	if !d.Record.Placed.Taint || n.Cordoned && !n.CordonOurs {
		d.Record.Placed.Cordon = !n.Cordoned || n.CordonOurs
	}
	d.Record.Placed.Taint = true
	return d.carryOut(Isolate)
}

// Besides its power, a machine may be cut off from storage and network, by devices of status.decision.devices.
// They are called by isolate, by the protocol of every device (device.go), under the one claim of the fence (S7).
// What somebody else has cut is not ours to give back (S12). The machine runs on: that its storage is cut proves
// of nothing else that it may start elsewhere (see CutOnly).

// cutOff takes storage and network from the machine, one device after the other, and
// hands the fence on when nothing is left to be cut.
func (d *decision) cutOff(msg string) outcome {
	switch {
	case d.ConfirmAsked() || !d.Decision.Settings.Action.Device():
		return d.enter(api.Fencing, api.Isolated, msg) // a person's word, by whom the machine is off
	case d.EarlyOnly() && facts.CutOnly(d.Decision):
		return d.enter(api.Pending, api.LeaseStandsStill, "only its Lease speaks, and no device can show that its machine is off")
	case d.EarlyOnly():
		return d.enter(api.Fencing, api.Isolated, msg) // for the Lease alone nothing is cut
	}
	if facts.CutOnly(d.Decision) {
		d.noteBoot()
		if d.RebootedWithin() {
			return d.leave(api.Recovering, api.SignOfLife, "boot ID changed; nothing more is released")
		}
	}
	if facts.CutOnly(d.Decision) && d.Begun() {
		d.isolationRecords()
		if d.GivenBackByOthers() {
			return d.leave(api.Recovering, api.SignOfLife, "somebody else gave it access again; nothing more is released")
		}
	}
	if o := d.nextCut(); o.decided {
		return o
	}
	switch {
	case facts.CutOnly(d.Decision) && d.Record.Awaited != nil && !d.Begun():
		return d.newPass(api.SeenCutOff, "access reads as cut: whether its work is released now is for the gate to say") // S14, S17
	case facts.CutOnly(d.Decision):
		return d.provenByCut()
	}
	return first(d.powerLater, func() outcome { return d.toFencing(msg) })
}

// toFencing hands an isolated node on to whoever makes sure that its machine is off.
func (d *decision) toFencing(msg string) outcome {
	d.enter(api.Fencing, api.Isolated, msg+d.NotCut())
	return d.readNext()
}

// readNext has the next invocation read the machine at once, where it is handed that. Anything
// that may speak against a read is left to it.
func (d *decision) readNext() outcome {
	p := &d.Record.Power
	plain := d.Decision.Settings.Action.Device() && d.Decision.Power(0) != nil && !d.MachineWithoutNode() && d.Record.ActivityChecks == nil
	if !d.Seen.HandsOver || !plain || d.Begun() || d.Record.Awaited != nil || p.OffAt != nil || d.Seen.Call != nil {
		return settled
	}
	d.Record.BootIDBefore = d.Seen.Node.BootID
	return d.power().next(false, nil, nil)
}

// nextCut is the next call to a device, if any is left to be cut.
func (d *decision) nextCut() outcome {
	d.isolationRecords()
	if i := d.DeviceIndex(d.CallDevice); i >= 0 {
		if o := d.judgeCut(i); o.decided {
			return o
		}
	}
	for i := range d.Decision.Isolation() {
		switch {
		case d.CutDone(i):
		case d.Dispensable(i):
			d.passOver(i)
		default:
			return d.readOrCut(i)
		}
	}
	return goOn
}

// judgeCut takes what the device has just said.
func (d *decision) judgeCut(i int) outcome {
	dev, b, c := d.access(i), d.Decision.Isolation()[i], d.Seen.Call
	switch dev.response() {
	case wrongMachine:
		return d.cutFailed(i, api.WrongMachine, b.Words()+" answers for machine "+c.Machine()+", bound is "+b.Identity)
	case readsOff:
		return d.seenCut(i)
	case readsOn:
		return d.stillThere(i)
	case stopping:
		if dev.rec.OffAt != nil && dev.shows(dev.rec.OffAt) {
			return dev.wait(facts.Poll) // on its way: the device has not failed
		}
	case noResponse:
		return goOn // it is read next
	}
	return d.cutFailed(i, cmp.Or(c.Why, api.DeviceFailed), b.Words()+": "+dev.rec.LastError)
}

// seenCut keeps that there is no access. Where that is the proof it takes two reads (S1).
func (d *decision) seenCut(i int) outcome {
	b, r := d.Decision.Isolation()[i], d.CutRecord(i)
	if r.FirstCut == nil {
		r.FirstCut = r.LastRead.DeepCopy()
	}
	if facts.CutOnly(d.Decision) && facts.Proves(b) {
		if left := d.access(i).untilSecond(facts.Settle); left > 0 {
			d.tell(api.SeenCutOff, facts.Taken(b)+" reads cut off; looking again in "+left.String())
			return d.access(i).wait(left)
		}
	}
	if r.SeenCutAt == nil {
		whose := ""
		if !r.SwitchedByUs {
			whose = ", and was before this fence: it is not given back by nodefence"
		}
		d.tell(api.SeenCutOff, facts.Taken(b)+" reads cut off"+whose)
	}
	r.SeenCutAt, r.Tries = r.LastRead.At.DeepCopy(), 0
	return goOn
}

// stillThere: the machine has access. Off it, or wait for the cut to take effect.
func (d *decision) stillThere(i int) outcome {
	b, r := d.Decision.Isolation()[i], d.CutRecord(i)
	r.SeenCutAt = nil
	switch {
	case r.OffAt == nil:
		return goOn
	case d.access(i).shows(r.OffAt):
		return d.access(i).wait(facts.Poll)
	}
	r.OffAt = nil
	return d.cutFailed(i, api.PowerOffNotSeen, facts.Taken(b)+" was cut, and still reads as there after "+d.OffTimeout().String())
}

// readOrCut chooses the next call to a device that is to be cut.
func (d *decision) readOrCut(i int) outcome {
	r, dev := d.CutRecord(i), d.access(i)
	if r.FirstCut != nil && !d.PartOfProof(r.FirstCut) {
		r.FirstCut = nil
	}
	return dev.next(dev.reads(api.PoweredOn), r.OffAt, func() outcome { return d.cutAccess(i) })
}

// cutAccess takes access from a machine that was just read to have it, unless anything
// speaks against that now.
func (d *decision) cutAccess(i int) outcome {
	return first(
		func() outcome { return d.awaitedReadsOn(i) }, d.againstOff, d.againstCut, d.notCounted, d.spareDump,
		func() outcome { return d.sendCut(i) },
	)
}

// awaitedReadsOn goes back to the gate with a device that did not answer, and does now.
func (d *decision) awaitedReadsOn(i int) outcome {
	if d.Record.Awaited == nil {
		return goOn
	}
	return d.newPass(api.MachineReadOn, facts.Taken(d.Decision.Isolation()[i])+" reads as there: what may be cut now is for the gate to say")
}

// againstCut holds every cut of access while a brake is on (S25).
func (d *decision) againstCut() outcome {
	if !d.Braking() {
		return goOn
	}
	if o := d.endBegun(); o.decided {
		return o
	}
	return d.stay(cmp.Or(d.Seen.Brakes.Why, api.Stopped), "nothing more is cut while the brake is on: "+d.Seen.Brakes.Message, facts.Handover)
}

// sendCut sends the Off.
func (d *decision) sendCut(i int) outcome {
	r := d.CutRecord(i)
	if facts.CutOnly(d.Decision) && !r.SwitchedByUs {
		d.countCut() // it counts in the node's day as a power cut does
		d.Record.Power.CutAt = d.At(0)
	}
	r.OffAt, r.SwitchedByUs, r.Abandoned = d.At(0), true, false // saved with the intent, after a read of access (S12)
	d.tell(api.AccessCutSent, "cutting off "+facts.Taken(d.Decision.Isolation()[i]))
	return d.access(i).call(api.CallOff)
}
