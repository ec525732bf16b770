package fence

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// fencing makes sure that the machine is off, and proves it: read; off where it
// reads on; then seen off twice, a settle apart.
func (d *decision) fencing() Action {
	if d.ended() {
		return None
	}
	if d.onlyMachine() {
		return d.machineGoes()
	}
	if d.reading() {
		return d.witness()
	}
	if d.peeking() {
		return d.peek()
	}
	if d.confirmAsked() {
		return d.confirmed()
	}
	if d.calledOff() || d.stale() {
		return None
	}
	if alive := d.aliveAgain(); alive != "" {
		d.another()
		return d.to(api.Recovering, api.SignOfLife, alive+"; nothing more is released")
	}
	if !d.spec.Policy.Action.Reads() || d.spec.Binding == nil {
		// The person's word was not believed, or is not there any more.
		return d.to(api.Pending, api.ConfirmationHold, "no device to ask: back to waiting for a person")
	}
	if d.st.BootIDBefore != d.seen.Node.BootID {
		// First look, or it rebooted by itself: the proof is about this boot (S3).
		d.st.BootIDBefore, d.st.Power.FirstOff = d.seen.Node.BootID, nil
	}
	if c := d.seen.Call; c != nil && c.Wrong {
		return d.fail(api.WrongMachine, "the device answers for machine "+c.Identity+", bound is "+d.bound())
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
func (d *decision) judge() Action {
	r := d.st.Power.LastRead
	if r.Power != "Off" && d.untouched() {
		return d.standDown()
	}
	switch r.Power {
	case "Off":
		return d.seenOff(r)
	case "On":
		return d.seenOnInFencing()
	}
	if d.seen.Call.Stopping && d.since(d.st.PhaseSince) < StopTakes {
		// By our Off or another's: it gets none (S12), and the device has not failed.
		d.wait(Poll)
		return None
	}
	return d.retry(api.DeviceFailed, d.st.Power.LastError)
}

// seenOnInFencing: off it, or wait for the Off to take effect.
func (d *decision) seenOnInFencing() Action {
	switch {
	case d.st.Release.StartedAt != nil:
		// Somebody switched it on after its work was released: its kubelet
		// starts what is left, and nothing more is taken from it (S4).
		d.another()
		return d.to(api.Recovering, api.SignOfLife, "the machine was switched on by somebody else")
	case d.st.Power.OffAt == nil:
		d.tell(api.ReadOn, "the machine is on")
		d.next(0)
		return None
	case d.since(d.st.Power.OffAt) < d.powerOff():
		d.wait(Poll)
		return None
	}
	d.st.Power.OffAt = nil
	msg := "power-off was sent, and the machine still reads on after " + d.powerOff().String()
	if e := d.st.Power.OffError; e != "" {
		msg += "; it was answered with: " + e
	}
	return d.retry(api.OffNotSeen, msg)
}

// seenOff makes the proof of two reads (S1, S5).
func (d *decision) seenOff(r *api.Read) Action {
	first := d.st.Power.FirstOff
	if first != nil && r.At.Sub(first.At.Time) > max(DecisionValidity, 2*d.settle()) {
		first = nil // it may have stood in a backup: two reads make a proof, not one and a memory (S1, S16)
	}
	if first == nil {
		if d.st.Power.OffAt == nil {
			d.st.Power.LeaseFresh = d.leaseFresh()
		}
		d.st.Power.FirstOff = r.DeepCopy()
		d.tell(api.ReadOff, "the machine reads off; looking again in "+d.settle().String())
		d.wait(d.settle())
		return None
	}
	if d.leaseMovedSince(first.At) {
		d.st.Power.FirstOff = nil
		return d.retry(api.SignOfLife, "the device says off, and the node's Lease moves")
	}
	if left := d.settle() - r.At.Sub(first.At.Time); left > 0 {
		d.wait(left)
		return None
	}
	d.st.Retries = 0
	d.st.Proof = d.proof(api.ProofSeenOff)
	d.st.Proof.Reads = []api.Read{*first, *r}
	d.st.Proof.At = r.At
	d.st.Power.FirstOff = nil
	return d.to(api.Releasing, api.SeenOff, "the machine was seen off twice, "+r.At.Sub(first.At.Time).Round(time.Millisecond).String()+" apart")
}

// settle is the time between the two reads: where the Lease was fresh when the
// power went, a whole renewal and a margin, in which it must not move (S5).
func (d *decision) settle() time.Duration {
	if d.st.Power.LeaseFresh {
		if s := d.seen.Lease.Renewal + d.seen.Lease.Renewal/5; s > Settle {
			return s
		}
	}
	return Settle
}

// confirmed takes a named person's word for the machine being off (S1).
func (d *decision) confirmed() Action {
	c := d.spec.Requests.ConfirmOff
	d.st.ConfirmHandled = c.At.DeepCopy()
	if d.leaseFresh() {
		return d.hold(api.SignOfLife, c.By+" confirmed that the machine is off, but its Lease moves: not believed", Handover)
	}
	d.st.Proof = d.proof(api.ProofConfirmed)
	d.st.Proof.By, d.st.Proof.At = c.By, d.time()
	if d.st.BootIDBefore == "" {
		d.st.BootIDBefore = d.seen.Node.BootID
		d.st.Proof.BootIDBefore = d.seen.Node.BootID
	}
	return d.to(api.Releasing, api.ConfirmedOff, c.By+" confirmed that the machine is off")
}

func (d *decision) proof(kind api.ProofKind) *api.Proof {
	p := &api.Proof{
		Kind: kind, FenceUID: d.fenceUID(), Generation: d.spec.Generation,
		NodeUID: d.spec.NodeUID, BootIDBefore: d.st.BootIDBefore,
	}
	if b := d.binding(); b != nil {
		p.Device = b.Driver + " " + b.Address
	}
	if r := d.st.Power.LastRead; r != nil && kind == api.ProofSeenOff {
		p.Identity = r.Identity
	}
	return p
}

// readOrOff chooses the next word with the device.
func (d *decision) readOrOff() Action {
	if d.spoken() || d.early() {
		return None
	}
	if d.freshlyRead("On") && !d.untouched() && d.st.Power.OffAt == nil && d.st.Release.StartedAt == nil {
		if d.seen.Self {
			return d.hold(api.OwnMachineHold, "nodefence runs on this node; another replica must cut its power", Handover) // S13
		}
		if d.st.Power.CutByUs && d.recovered() {
			return None // what we sent did nothing, and there is no reason for more (S17)
		}
		if d.st.Power.CutByUs && d.braking() {
			if d.endBegun() {
				return None // no word of ours will switch it off (S27)
			}
			return d.hold(cmp.Or(d.seen.Brakes.Why, api.StoppedHold), "no further Off while the brake is on: "+d.seen.Brakes.Message, Handover) // S25
		}
		if d.spareDump() {
			return None
		}
		if d.uncut() {
			return d.to(api.Isolating, api.Admitted, "it is not the Lease alone any more: storage and network first")
		}
		d.st.Power.LeaseFresh = d.leaseFresh()
		d.st.Power.OffAt, d.st.Power.OffError = d.at(0), ""
		d.st.Power.OffCalls++
		if !d.st.Power.CutByUs {
			d.st.Power.Cuts++
		}
		d.noteCut()
		d.st.Power.CutAt = d.at(0)
		d.st.Power.CutByUs = true // saved with the intent, after a read of on (S12)
		d.tell(api.PowerOffSent, fmt.Sprintf("cutting the power, call number %d", d.st.Power.OffCalls))
		return d.call(api.CallOff)
	}
	return d.call(api.CallRead)
}

// braking: a brake is on that stops further Offs also after the first.
func (d *decision) braking() bool {
	b := d.seen.Brakes
	return !b.Looked || b.Stopped || b.Paused || b.Storm || d.spec.Requests.Abort != nil || d.seen.Deleting
}

// poweringOn brings back a machine that we cut, once nothing of ours can still
// switch it off (S8). It never gives up: it tries more slowly.
func (d *decision) poweringOn() Action {
	if d.cameBack() {
		d.another()
		d.st.Power.Cut = nil
		return d.to(api.Recovering, api.NodeHealthy, "the node is Ready under a new boot ID")
	}
	if u := d.st.Power.EffectUntil; u != nil && d.now.Before(u.Time) && d.st.Power.OnAt == nil {
		d.awaken(u.Time)
		return None
	}
	if c := d.seen.Call; c != nil && c.Wrong {
		return d.slowly(api.WrongMachine, "the device answers for another machine: not switched on")
	}
	if d.justRead() {
		return d.judgeOn()
	}
	if d.spoken() || d.early() {
		return None
	}
	if d.freshlyRead("Off") && d.st.Power.OnAt == nil {
		d.st.Power.OnAt = d.at(0)
		d.st.Power.OnCalls++
		d.tell(api.PowerOnSent, fmt.Sprintf("switching on, call number %d", d.st.Power.OnCalls))
		return d.call(api.CallOn)
	}
	return d.call(api.CallRead)
}

func (d *decision) judgeOn() Action {
	switch d.st.Power.LastRead.Power {
	case "On":
		d.st.Retries = 0
		if d.undoNextLevel() {
			return None
		}
		d.another()
		return d.to(api.Recovering, api.SeenOn, "the machine reads on")
	case "Off":
		if d.st.Power.OnAt == nil {
			d.next(0)
			return None
		}
		if d.since(d.st.Power.OnAt) < d.powerOff() {
			d.wait(Poll)
			return None
		}
		d.st.Power.OnAt = nil
		return d.slowly(api.OnNotSeen, "power-on was sent, and the machine still reads off")
	}
	return d.slowly(api.DeviceFailed, d.st.Power.LastError)
}

// call claims the device for one call and asks for it (S7, S8).
func (d *decision) call(c api.Call) Action {
	limit, u := callLimit(d.spec.Policy), d.st.Power.EffectUntil
	d.st.Claim = &api.Claim{Holder: d.seen.Me, Call: c, At: d.time(), NotAfter: *d.at(limit), Alone: u == nil || !d.now.Before(u.Time)}
	if c != api.CallRead {
		d.st.Power.EffectUntil = d.at(limit + d.effectDelay())
	}
	d.nextAt(d.takeover(d.st.Claim))
	return Action(c)
}

// takeover is from when a claim no longer counts: its call can't be in flight
// any more, and what it did has taken effect (S8).
func (d *decision) takeover(c *api.Claim) time.Time {
	if c.Call == api.CallRead {
		return c.NotAfter.Time
	}
	return c.NotAfter.Add(d.effectDelay())
}

// callElsewhere: another invocation's device call may be in flight (S7).
func (d *decision) callElsewhere() bool {
	c := d.st.Claim
	return c != nil && c.Holder != d.seen.Me && d.now.Before(d.takeover(c))
}

// lostCall takes over a claim whose holder never reported. It counts as a
// failed try, so that a call that kills its process each time comes to an end.
func (d *decision) lostCall() {
	c := d.st.Claim
	if c == nil || d.now.Before(d.takeover(c)) {
		return
	}
	d.st.Claim = nil
	if c.Isolation > 0 {
		d.lostIsolationCall(c)
		return
	}
	d.st.Power.LastRead = nil
	switch c.Call {
	case api.CallOff:
		d.st.Power.OffAt = nil // a read of on from here means that it was never sent, or did nothing
	case api.CallOn:
		d.st.Power.OnAt = nil
	}
	d.st.Retries++
	d.tell(api.CallLost, "nobody reported the end of a "+string(c.Call)+"; reading the device first")
}

// spoken: this invocation has made its one device call; the next one goes on (S7).
func (d *decision) spoken() bool {
	if d.seen.Call == nil {
		return false
	}
	d.next(0)
	return true
}

// cameBack: the node runs again after our cut, whatever its device says.
func (d *decision) cameBack() bool {
	return d.healthy() && d.st.BootIDBefore != "" && d.seen.Node.BootID != d.st.BootIDBefore
}

// recovered: the node's own health began this fence, and it is healthy again since our
// last Off was sent. What was asked for is done, healthy or not.
func (d *decision) recovered() bool {
	if t := d.spec.Trigger; t.Request != nil || t.OfMachine() || !d.healthySince(d.st.Power.CutAt) {
		return false
	}
	d.back()
	return true
}

// another: the machine is on, and where our On was not the last word, by another hand.
// What of our Offs may still take effect is ours all the same (S8); an off after that
// is not (S12).
func (d *decision) another() {
	p := &d.st.Power
	p.CutByUs = false
	switch {
	case p.OnAt != nil:
	case d.mayBeLate():
		p.OffAt = cmp.Or(p.OffAt, p.CutAt)
	default:
		p.OffAt = nil
	}
}

// noLateOff: the node is healthy, and nothing of ours can switch its machine off any
// more: whatever does from here is another hand (S12).
func (d *decision) noLateOff() {
	if !d.mayBeLate() {
		d.st.Power.OffAt = nil
	}
}

// mayBeLate: what was sent to the device last may still take effect (S8).
func (d *decision) mayBeLate() bool {
	u := d.st.Power.EffectUntil
	return u != nil && d.now.Before(u.Time)
}

// early: the next call is not due yet.
func (d *decision) early() bool {
	nb := d.st.Power.NotBefore
	if nb == nil || !d.now.Before(nb.Time) {
		return false
	}
	d.awaken(nb.Time)
	return true
}

// wait spaces the next call.
func (d *decision) wait(after time.Duration) {
	d.st.Power.NotBefore = d.at(after)
	d.next(after)
}

func (d *decision) freshlyRead(power string) bool {
	return d.reads(d.st.Power.LastRead, power)
}

// reads: this read says so, and an Off or On may follow it.
func (d *decision) reads(r *api.Read, power string) bool {
	return r != nil && r.Power == power && d.within(&r.At, readValidity(d.spec.Policy))
}

// readValidity: an Off or On follows a read no older (S9). The read itself may take
// as long as a call, and the event that goes on with it may be lost once (S19): with
// less, a slow device would be read for ever and never switched.
func readValidity(p api.ResolvedPolicy) time.Duration { return callLimit(p) + Resync + Handover }

// callLimit is the longest that one device call may take.
func callLimit(p api.ResolvedPolicy) time.Duration {
	if limit := p.Timeouts.DeviceCall.Duration; limit > 0 {
		return limit
	}
	return 20 * time.Second
}

func (d *decision) bound() string {
	b := d.binding()
	if b == nil {
		return "none"
	}
	return b.Identity
}
