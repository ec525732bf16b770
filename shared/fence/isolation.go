package fence

import (
	"cmp"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Besides its power, a machine may be cut off from storage and network, by devices of
// status.decision.devices. They are called by isolate, by the protocol of every device
// (device.go), under the one claim of the fence (S7). What somebody else has cut is not ours
// to give back (S12). The machine runs on: that its storage is cut proves of nothing else that
// it may start elsewhere (see CutOnly).

// Claimed is the device that the claimed call is for; nil if it is bound no more.
func Claimed(f *api.NodeFence) *api.Binding {
	if c := f.Status.Claim; c != nil {
		return f.Status.Decision.Device(c.Device)
	}
	return nil
}

// cutOff takes storage and network from the machine, one device after the other, and
// hands the fence on when nothing is left to be cut.
func (d *decision) cutOff(msg string) outcome {
	switch {
	case d.confirmAsked() || !d.dec.Settings.Action.Device():
		return d.enter(api.Fencing, api.Isolated, msg) // a person's word, by whom the machine is off
	case d.earlyOnly() && CutOnly(d.dec):
		return d.enter(api.Pending, api.LeaseStandsStill, "only its Lease speaks, and no device can show that its machine is off")
	case d.earlyOnly():
		return d.enter(api.Fencing, api.Isolated, msg) // for the Lease alone nothing is cut
	}
	if CutOnly(d.dec) {
		d.noteBoot()
		if d.rebootedWithin() {
			return d.leave(api.Recovering, api.SignOfLife, "boot ID changed; nothing more is released")
		}
	}
	if CutOnly(d.dec) && d.begun() {
		d.isolationRecords()
		if d.givenBackByOthers() {
			return d.leave(api.Recovering, api.SignOfLife, "somebody else gave it access again; nothing more is released")
		}
	}
	if o := d.nextCut(); o.decided {
		return o
	}
	switch {
	case CutOnly(d.dec) && d.st.Awaited != nil && !d.begun():
		return d.newPass(api.SeenCutOff, "access reads as cut: whether its work is released now is for the gate to say") // S14, S17
	case CutOnly(d.dec):
		return d.provenByCut()
	}
	return d.enter(api.Fencing, api.Isolated, msg+d.notCut())
}

// notCut names what the fence goes on without.
func (d *decision) notCut() string {
	var names []string
	for _, r := range d.st.Isolation {
		if b := d.dec.Device(r.Device); r.GaveUp && b != nil {
			names = append(names, taken(*b)+" is not cut off: "+r.LastError)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, "; ")
}

// cutsBeforePower: storage and network are cut before the power is. Where only its Lease
// spoke for this fence until now, that has still to be done.
func (d *decision) cutsBeforePower() bool {
	return !d.begun() && !d.earlyOnly() && !d.confirmAsked() && d.dec.Settings.Action.Device()
}

// uncut: a device of the isolation has still to be spoken with.
func (d *decision) uncut() bool {
	for i := range d.dec.Isolation() {
		if !d.cutDone(i) {
			return true
		}
	}
	return false
}

// nextCut is the next call to a device, if any is left to be cut.
func (d *decision) nextCut() outcome {
	d.isolationRecords()
	if i := d.deviceIndex(d.callDevice); i >= 0 {
		if o := d.judgeCut(i); o.decided {
			return o
		}
	}
	for i := range d.dec.Isolation() {
		switch {
		case d.cutDone(i):
		case d.dispensable(i):
			d.passOver(i)
		default:
			return d.readOrCut(i)
		}
	}
	return goOn
}

// judgeCut takes what the device has just said.
func (d *decision) judgeCut(i int) outcome {
	dev, b, c := d.access(i), d.dec.Isolation()[i], d.seen.Call
	switch dev.response() {
	case wrongMachine:
		return d.cutFailed(i, api.WrongMachine, b.Words()+" answers for machine "+c.machine()+", bound is "+b.Identity)
	case readsOff:
		return d.seenCut(i)
	case readsOn:
		return d.stillThere(i)
	case stopping:
		if dev.rec.OffAt != nil && dev.shows(dev.rec.OffAt) {
			return dev.wait(Poll) // on its way: the device has not failed
		}
	case noResponse:
		return goOn // it is read next
	}
	return d.cutFailed(i, cmp.Or(c.Why, api.DeviceFailed), b.Words()+": "+dev.rec.LastError)
}

// seenCut keeps that there is no access. Where that is the proof it takes two reads (S1).
func (d *decision) seenCut(i int) outcome {
	b, r := d.dec.Isolation()[i], d.record(i)
	if r.FirstCut == nil {
		r.FirstCut = r.LastRead.DeepCopy()
	}
	if CutOnly(d.dec) && proves(b) {
		if left := d.access(i).untilSecond(Settle); left > 0 {
			d.tell(api.SeenCutOff, taken(b)+" reads cut off; looking again in "+left.String())
			return d.access(i).wait(left)
		}
	}
	if r.SeenCutAt == nil {
		whose := ""
		if !r.SwitchedByUs {
			whose = ", and was before this fence: it is not given back by nodefence"
		}
		d.tell(api.SeenCutOff, taken(b)+" reads cut off"+whose)
	}
	r.SeenCutAt, r.Tries = r.LastRead.At.DeepCopy(), 0
	return goOn
}

// stillThere: the machine has access. Off it, or wait for the cut to take effect.
func (d *decision) stillThere(i int) outcome {
	b, r := d.dec.Isolation()[i], d.record(i)
	r.SeenCutAt = nil
	switch {
	case r.OffAt == nil:
		return goOn
	case d.access(i).shows(r.OffAt):
		return d.access(i).wait(Poll)
	}
	r.OffAt = nil
	return d.cutFailed(i, api.PowerOffNotSeen, taken(b)+" was cut, and still reads as there after "+d.offTimeout().String())
}

// readOrCut chooses the next call to a device that is to be cut.
func (d *decision) readOrCut(i int) outcome {
	r, dev := d.record(i), d.access(i)
	if r.FirstCut != nil && !d.partOfProof(r.FirstCut) {
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
	if d.st.Awaited == nil {
		return goOn
	}
	return d.newPass(api.MachineReadOn, taken(d.dec.Isolation()[i])+" reads as there: what may be cut now is for the gate to say")
}

// againstCut holds every cut of access while a brake is on (S25).
func (d *decision) againstCut() outcome {
	if !d.braking() {
		return goOn
	}
	if o := d.endBegun(); o.decided {
		return o
	}
	return d.stay(cmp.Or(d.seen.Brakes.Why, api.Stopped), "nothing more is cut while the brake is on: "+d.seen.Brakes.Message, Handover)
}

// sendCut sends the Off.
func (d *decision) sendCut(i int) outcome {
	r := d.record(i)
	if CutOnly(d.dec) && !r.SwitchedByUs {
		d.countCut() // it counts in the node's day as a power cut does
		d.st.Power.CutAt = d.at(0)
	}
	r.OffAt, r.SwitchedByUs, r.Abandoned = d.at(0), true, false // saved with the intent, after a read of access (S12)
	d.tell(api.AccessCutSent, "cutting off "+taken(d.dec.Isolation()[i]))
	return d.access(i).call(api.CallOff)
}
