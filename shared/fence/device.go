package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// One protocol holds for every device, whether it switches the machine's power or cuts the
// machine off from storage or network:
//
//   - It is called by one invocation at a time, under a claim that is saved first (S7, S8).
//   - It is read before it is switched, and after each Off or On before anything else (S9).
//   - It is switched only after a read that is fresh, and only if nothing that was sent before
//     is still waited for.
//   - Two reads of off in a row, a settle apart, are worth something; a doubt between them
//     begins the row anew (S2).
//   - A call that does nothing is a try. Tries are spaced, and an account that is refused too
//     often is left alone for a while.
//
// What an answer means to the fence differs, and stands with the phase that asks.

// device is one device, and what this fence has had to do with it.
type device struct {
	*decision
	// b is how it is bound; nil if it is bound no more.
	b   *api.Binding
	rec *api.DeviceRecord
	// firstOff is the first of the reads of off in a row.
	firstOff **api.Read
	// tries counts the calls that did nothing.
	tries *int32
	// made is how this invocation's call to it ended; nil if it made none that counts.
	made *observed.CallResult
	// wasRead: that call was a read, and its answer stands in the record.
	wasRead bool
}

// power is the device that switches the machine, of the level that is spoken with now.
func (d *decision) power() device {
	p := &d.Record.Power
	return device{d, d.Binding(), &p.DeviceRecord, &p.FirstOff, &d.Record.Retries, d.CallEnd, d.JustRead()}
}

// access is the device at this place of the isolation. It must have a record.
func (d *decision) access(i int) device { return d.accessBy(&d.Decision.Isolation()[i]) }

func (d *decision) accessBy(b *api.Binding) device {
	r := d.RecordOf(b.Name)
	dev := device{d, b, &r.DeviceRecord, &r.FirstCut, &r.Tries, nil, false}
	if c := d.Seen.Call; c != nil && d.CallDevice == b.Name {
		dev.made, dev.wasRead = c, c.Call == api.CallRead
	}
	return dev
}

// response is what a device has just said.
type response int

const (
	// noResponse: it was not called, or it was told something. It is read next.
	noResponse response = iota
	// wrongMachine: it answers for another machine than the one bound (S11).
	wrongMachine
	readsOff
	readsOn
	// stopping: what is behind it is on its way off. The device has not failed.
	stopping
	// unknown: it failed, or does not know. Unknown is never off (S2).
	unknown
)

// notOff: it was read, and what is behind it is not off, or may not be.
func (r response) notOff() bool { return r == readsOn || r == stopping || r == unknown }

// response is what this invocation's call has come to.
func (dev device) response() response {
	switch {
	case dev.made != nil && dev.made.Wrong:
		return wrongMachine
	case !dev.wasRead || dev.rec.LastRead == nil: // it may be the record of another device by now
		return noResponse
	case dev.rec.LastRead.State == api.PoweredOff:
		return readsOff
	case dev.rec.LastRead.State == api.PoweredOn:
		return readsOn
	case dev.Seen.Call.Stopping:
		return stopping
	}
	return unknown
}

// noteEnd records how a call to the device ended.
func (dev device) noteEnd(claim *api.Claim, c *observed.CallResult) {
	dev.rec.LastError = c.Err
	dev.noteDenied(dev.b, c)
	if c.Call != api.CallRead {
		dev.rec.EffectUntil = dev.EffectEnds(dev.rec.EffectUntil, claim, c)
		dev.rec.LastRead = nil // S9: it is read before anything else
		return
	}
	state := api.StateOf(c.Power)
	if c.Wrong {
		state = api.PowerUnknown // S11: the answer is about another machine
	}
	if state != api.PoweredOff {
		*dev.firstOff = nil // two reads with a doubt between them are not two in a row (S2)
	}
	dev.rec.LastRead = &api.Read{State: state, Identity: c.Identity, MissingSupply: c.MissingSupply, At: *dev.Stamp(c.At)}
}

// noteNotMade records that nothing was sent, so that there is nothing to wait for.
func (dev device) noteNotMade(c api.Call) {
	switch c {
	case api.CallOff:
		dev.rec.OffAt = nil
	case api.CallOn:
		dev.rec.OnAt = nil
	}
}

// noteLost records that nobody reported the end of a call. It counts as a failed try, so that
// a call that kills its process each time comes to an end.
func (dev device) noteLost(c api.Call) {
	dev.rec.LastRead = nil
	switch c {
	case api.CallOff:
		dev.rec.OffAt = nil // a read of on from here means that it was never sent, or did nothing
	case api.CallOn:
		dev.rec.OnAt = nil
	}
	*dev.tries++
}

// next is the next call to the device: a read, unless the last one is fresh and says that it
// is to be switched, and nothing that was sent is waited for (S9).
func (dev device) next(toSwitch bool, sent *api.Time, switchIt func() outcome) outcome {
	if o := first(dev.calledAlready, dev.tooSoon); o.decided {
		return o
	}
	if !toSwitch || sent != nil {
		return dev.call(api.CallRead)
	}
	return switchIt()
}

// call claims the device for one call and asks for it (S7, S8). Whether an earlier call may
// still take effect is asked of this device.
func (dev device) call(c api.Call) outcome {
	limit, u := dev.Decision.CallLimit(), dev.rec.EffectUntil
	claim := &api.Claim{
		Holder: dev.Seen.Me, Call: c, At: dev.Time(), NotAfter: *dev.At(limit),
		NoEarlierEffect: u == nil || !dev.Now.Before(u.Time),
	}
	if dev.b != nil {
		claim.Device = dev.b.Name
	}
	if c != api.CallRead {
		dev.rec.EffectUntil = dev.EffectMayEnd(u, limit)
	}
	dev.Record.Claim = claim
	dev.lookAt(dev.Takeover(claim))
	return doing(Action(c))
}

// tooSoon: the next call is not due yet.
func (dev device) tooSoon() outcome {
	at, locked := dev.LockedOut(dev.b)
	if nb := dev.rec.NotBefore; nb != nil && nb.After(at) {
		at = nb.Time
	}
	switch {
	case !dev.Now.Before(at):
		return goOn
	case locked || dev.Record.Awaited != nil:
		return dev.waitUntil(at) // a person, or the node's health, may end it sooner
	}
	dev.wakeAt(at)
	return settled
}

// wait spaces the next call.
func (dev device) wait(after time.Duration) outcome {
	dev.rec.NotBefore = dev.At(after)
	dev.lookAfter(after)
	return settled
}

// shows: what was sent may take until here to show.
func (dev device) shows(sent *api.Time) bool { return dev.Since(sent) < dev.OffTimeout() }

// untilSecond is how long after the read of off that was just made one counts as the second
// of two: a settle after the first, which it may be itself.
func (dev device) untilSecond(settle time.Duration) time.Duration {
	return settle - dev.rec.LastRead.At.Sub((*dev.firstOff).At.Time)
}

// reads: the last read says so, and is fresh enough to be followed by an Off or On.
func (dev device) reads(state api.PowerState) bool { return dev.ReadLately(dev.rec.LastRead, state) }

// lastTry: it was tried as often as a step is, or lets nobody in. A person who has ended the
// record need not wait for it (S27).
func (dev device) lastTry() bool {
	_, locked := dev.LockedOut(dev.b)
	return *dev.tries >= dev.Attempts() || locked
}

// slower counts a try, and is how long after it the next one comes: twice as long each time,
// up to five minutes (S25).
func (dev device) slower() time.Duration {
	wait := dev.Pause(*dev.tries)
	*dev.tries++
	return wait
}

// calledAlready: this invocation has made its one device call; the next one goes on (S7: one
// call an invocation). In Fencing that one may be handed its call, which is claimed now.
func (d *decision) calledAlready() outcome {
	if d.Seen.Call == nil || d.Seen.HandsOver && d.Record.Phase == api.Fencing {
		return goOn
	}
	d.lookAfter(0)
	return settled
}
