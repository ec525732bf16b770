package fence

import (
	"cmp"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Besides its power, a machine may be cut off from storage and network, by devices of
// status.decision.devices. They are spoken with by isolate, under the one claim that the
// machine's own device is spoken with (S7), each intent saved before its call (S8), and
// read before anything is said (S9). What somebody else has cut is not ours to give back
// (S12). The machine runs on: that its storage is cut proves of nothing else that it may
// start elsewhere (see CutOnly).

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
	case d.earlyOnly() && d.cutOnly():
		return d.enter(api.Pending, api.LeaseStandsStill, "only its Lease speaks, and no device can show that its machine is off")
	case d.earlyOnly():
		return d.enter(api.Fencing, api.Isolated, msg) // for the Lease alone nothing is cut
	}
	if d.cutOnly() {
		d.noteBoot()
		if d.rebootedWithin() {
			return d.enter(api.Recovering, api.SignOfLife, "boot ID changed; nothing more is released")
		}
	}
	if d.cutOnly() && d.begun() {
		d.isolationRecords()
		if d.givenBackByOthers() {
			return d.enter(api.Recovering, api.SignOfLife, "somebody else gave it access again; nothing more is released")
		}
	}
	if o := d.nextCut(); o.decided {
		return o
	}
	switch {
	case d.cutOnly() && d.st.Awaited != nil && !d.begun():
		return d.newPass(api.SeenCutOff, "access reads as cut: whether its work is released now is for the gate to say") // S14, S17
	case d.cutOnly():
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

// nextCut is the next word with a device, if any is left to say.
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
			return d.sayCut(i)
		}
	}
	return goOn
}

// judgeCut takes what the device has just said.
func (d *decision) judgeCut(i int) outcome {
	r, c := d.record(i), d.seen.Call
	switch {
	case c.Wrong:
		return d.cutFailed(i, api.WrongMachine, r.Words()+" answers for machine "+c.machine()+", bound is "+d.dec.Isolation()[i].Identity)
	case c.Call != api.CallRead:
		return goOn // it is read next
	case r.LastRead.State == api.PoweredOff:
		return d.seenCut(i)
	case r.LastRead.State == api.PoweredOn:
		return d.stillThere(i)
	case c.Stopping && r.OffAt != nil && d.since(r.OffAt) < d.offTimeout():
		r.NotBefore = d.at(Poll) // on its way: the device has not failed
		d.lookAfter(Poll)
		return settled
	}
	return d.cutFailed(i, cmp.Or(c.Why, api.DeviceFailed), r.Words()+": "+r.LastError)
}

func (d *decision) seenCut(i int) outcome {
	b, r := d.dec.Isolation()[i], d.record(i)
	if r.FirstCut == nil {
		r.FirstCut = r.LastRead.DeepCopy()
	}
	if d.cutOnly() && proves(b) {
		if left := Settle - r.LastRead.At.Sub(r.FirstCut.At.Time); left > 0 {
			d.tell(api.SeenCutOff, taken(b)+" reads cut off; looking again in "+left.String())
			r.NotBefore = d.at(left)
			d.lookAfter(left)
			return settled
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
	case d.since(r.OffAt) < d.offTimeout():
		r.NotBefore = d.at(Poll)
		d.lookAfter(Poll)
		return settled
	}
	r.OffAt = nil
	return d.cutFailed(i, api.PowerOffNotSeen, taken(b)+" was cut, and still reads as there after "+d.offTimeout().String())
}

// sayCut chooses the next word with a device that is to be cut.
func (d *decision) sayCut(i int) outcome {
	r := d.record(i)
	if r.FirstCut != nil && !d.proves(r.FirstCut) {
		r.FirstCut = nil
	}
	if o := d.calledAlready(); o.decided {
		return o
	}
	if nb := r.NotBefore; nb != nil && d.now.Before(nb.Time) {
		if d.wakeAt(nb.Time); d.st.Awaited != nil {
			d.waitUntil(nb.Time) // a person, or the node's health, may end it sooner
		}
		return settled
	}
	if until, locked := d.lockedOut(&d.dec.Isolation()[i]); locked {
		return d.waitUntil(until) // a retry may end it sooner
	}
	if !d.reads(r.LastRead, api.PoweredOn) || r.OffAt != nil {
		return d.sayTo(i, api.CallRead)
	}
	return d.cutAccess(i)
}

// cutAccess takes access from a machine that was just read to have it, unless anything
// speaks against that now.
func (d *decision) cutAccess(i int) outcome {
	if d.st.Awaited != nil {
		return d.newPass(api.MachineReadOn, taken(d.dec.Isolation()[i])+" reads as there: what may be cut now is for the gate to say")
	}
	if d.seen.Self {
		return d.stay(api.OwnMachine, "nodefence runs on this node; another replica must cut it off", Handover) // S13
	}
	if d.braking() {
		if o := d.endBegun(); o.decided {
			return o
		}
		return d.stay(cmp.Or(d.seen.Brakes.Why, api.Stopped), "nothing more is cut while the brake is on: "+d.seen.Brakes.Message, Handover) // S25
	}
	if !d.seen.Brakes.Counted {
		return d.stay(d.st.Reason, d.st.Message, Handover) // not asked again is no yes (S13, S15)
	}
	if o := d.spareDump(); o.decided {
		return o
	}
	r := d.record(i)
	if d.cutOnly() && !r.SwitchedByUs {
		d.countCut() // it counts in the node's day as a power cut does
		d.st.Power.CutAt = d.at(0)
	}
	r.OffAt, r.SwitchedByUs, r.Abandoned = d.at(0), true, false // saved with the intent, after a read of access (S12)
	d.tell(api.AccessCutSent, "cutting off "+taken(d.dec.Isolation()[i]))
	return d.sayTo(i, api.CallOff)
}

// sayTo claims the one call at a time for a device of the isolation (S7, S8). Whether an
// earlier call may still take effect is asked of that device, and not of the power's.
func (d *decision) sayTo(i int, c api.Call) outcome {
	r, until := d.record(i), d.st.Power.EffectUntil
	act := d.call(c)
	d.st.Claim.Device = r.Device
	d.st.Claim.NoEarlierEffect = r.EffectUntil == nil || !d.now.Before(r.EffectUntil.Time)
	if c != api.CallRead {
		r.EffectUntil, d.st.Power.EffectUntil = d.st.Power.EffectUntil, until
	}
	return act
}
