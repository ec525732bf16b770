package fence

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// A fence that has begun never stops being looked at (S25). When all tries are used up after power was cut, or
// after a release began, the machine may be off, and nobody else will switch it on. So its device is read for as
// long as it takes, more and more slowly. Meanwhile the fence holds no slot (S14) and sends no Off: what is seen
// off is released and switched on as ever, and what is seen on goes back to the gate.

// awaitBinding resolves it again and again, as slowly as a device is read.
func (d *decision) awaitBinding() outcome {
	if !d.Seen.Resolved {
		return d.carryOut(Resolve)
	}
	d.tell(api.WaitingForDevice, d.Awaits(cmp.Or(d.Decision.DevicesError, "no device is bound any more")))
	return d.waitUntil(d.Now.Add(d.power().slower()))
}

// await takes the slot from a fence whose tries are used up, and goes on reading.
func (d *decision) await(why api.Reason, msg string) outcome {
	if d.OutOfServiceStays() {
		return d.clearFirst(why, msg)
	}
	d.noteOutOfServiceGone()
	disobeyed := why == api.PowerOffNotSeen || d.Refused
	on := d.JustRead() && d.Record.Power.LastRead.State == api.PoweredOn
	d.giveBack()
	d.restart()
	d.Record.Restarts-- // it goes on where it stands
	d.Record.Awaited = &api.AwaitedRecord{Since: d.Time(), Reason: why, Message: clip.Message(msg), Disobeyed: disobeyed}
	d.Record.Power.Level = d.HighestCut()
	if disobeyed && on {
		return d.onAfterAll()
	}
	asked := d.Record.Phase == api.Pending // somebody wants it looked at now
	d.enter(api.Fencing, api.WaitingForDevice, d.Awaits(msg))
	if asked {
		return settled
	}
	d.Record.Power.NotBefore = d.At(d.power().slower())
	return d.waitUntil(d.Record.Power.NotBefore.Time)
}

// clearFirst goes by Failed, whose function takes the out-of-service taint off a machine
// that nobody sees off any more (S23), and comes back.
func (d *decision) clearFirst(why api.Reason, msg string) outcome {
	if d.Record.Awaited == nil {
		d.Record.Awaited = &api.AwaitedRecord{Since: d.Time(), Reason: why, Message: clip.Message(msg)}
	}
	return d.enter(api.Failed, why, msg)
}

// stillAwaited: the device has not answered. Where several were told to cut the power,
// the next one is asked.
func (d *decision) stillAwaited(msg string) outcome {
	if d.OutOfServiceStays() {
		return d.clearFirst(d.Record.Awaited.Reason, msg)
	}
	d.noteOutOfServiceGone()
	p := &d.Record.Power
	p.LastRead, p.FirstOff = nil, nil
	if n := slices.Index(p.Cut, p.Level); len(p.Cut) > 1 {
		p.Level = p.Cut[(n+1)%len(p.Cut)]
	}
	d.tell(api.WaitingForDevice, d.Awaits(msg))
	wait := d.power().slower()
	p.NotBefore = d.At(wait)
	return d.waitUntil(p.NotBefore.Time)
}

// endsAwaited ends the wait, or goes on with it where the device answers for another machine.
func (d *decision) endsAwaited() outcome {
	if o := d.awaitEnds(); o.decided {
		return o
	}
	if c := d.CallEnd; d.Record.Awaited != nil && c != nil && c.Wrong {
		return d.stillAwaited("the device answers for machine " + c.Identity + ", bound is " + d.Bound())
	}
	return goOn
}

// awaitEnds ends the wait where a person, or the node's own health, does.
func (d *decision) awaitEnds() outcome {
	a := d.Record.Awaited
	if a == nil {
		return goOn
	}
	if d.Ending() || d.RetryAsked() {
		if d.OutOfServiceStays() {
			return d.clearFirst(a.Reason, a.Message)
		}
		d.noteOutOfServiceGone()
	}
	if o := d.endBegun(); o.decided {
		d.Record.Power.NotBefore = nil
		return o // in bounded time, also where the device is dead (S27)
	}
	if d.HealthySince(&a.Since) {
		d.nodeRecovered()
		return settled
	}
	if r := d.Requests.Retry; d.RetryAsked() {
		d.answer(api.AskedRetry, r, api.Done, "the device is asked again now")
		return d.askedAnew("retry asked by " + r.By)
	}
	return goOn
}

// onAfterAll: the machine reads on, and no Off of ours can still take effect. It is not
// off by us any more; another Off is for the gate to allow, as a first one is (S17).
func (d *decision) onAfterAll() outcome {
	p, a := &d.Record.Power, d.Record.Awaited
	if d.MayBeLate() {
		p.NotBefore = p.EffectUntil.DeepCopy()
		d.wakeAt(p.NotBefore.Time)
		return settled
	}
	if o := d.cutNoMore(); o.decided {
		return o
	}
	if a.Disobeyed {
		d.Record.Awaited = nil
		return d.enter(api.Failed, a.Reason, a.Message)
	}
	return d.newPass(api.MachineReadOn, "the machine is on: what may be sent to it now is for the gate to say")
}

// cutNoMore gives up the cut of a machine whose device reads on, and by which nothing of ours
// can still take effect. If another device was told to cut the power too, that is read next.
func (d *decision) cutNoMore() outcome {
	p := &d.Record.Power
	if p.Cut = d.OtherCuts(); len(p.Cut) > 0 {
		d.tell(api.MachineReadOn, fmt.Sprintf("level %d reads on", p.Level+1))
		p.Level, p.LastRead, p.NotBefore = d.HighestCut(), nil, nil
		d.lookAfter(0)
		return settled
	}
	p.Cut = nil
	d.switchedOnByOther()
	return goOn
}

// A further Off may be held: by a brake, because storm, budgets and quorum were counted anew, or because
// whoever asked has withdrawn that. The machine reads on by then. If the fence kept its slot, another one of
// its set would wait for it, and it for that one, for ever: a budget of one, a quorum of three. So it goes
// back to the gate, where it waits like any other and holds nothing (S14). What was sent before can't take
// effect any more, and is no cut of ours from here: what the gate allows later is another first Off, under
// all that a first one is asked for (S13, S17).

// heldOff is the further Off that is not sent while a brake is on. What people have stopped goes on here
// once they let it; what was counted may wait for the very slot that this fence holds.
func (d *decision) heldOff() outcome {
	b := d.Seen.Brakes
	why, msg := b.Why, "no further Off while the brake is on: "+b.Message
	switch {
	case why != "":
	case b.Paused && !b.Stopped:
		why = api.Paused
	case b.Storm && !b.Stopped:
		why = api.TooManyUnhealthy
	default:
		why = api.Stopped
	}
	return d.holdOff(why, msg, b.Storm && !b.Stopped && !b.Paused && !b.Stricter)
}

// holdOff sends no further Off. Where another device was told to cut the power too, and has not shown what
// it did, that device is read, without a slot if awaits.
func (d *decision) holdOff(why api.Reason, msg string, awaits bool) outcome {
	if !d.Seen.Brakes.Looked || d.MayBeLate() {
		return d.stay(why, msg, facts.Handover)
	}
	if others := d.OtherCuts(); len(others) > 0 {
		if !awaits {
			return d.stay(why, msg, facts.Handover)
		}
		d.Record.Power.Cut = others
		return d.await(why, fmt.Sprintf("level %d reads on; %s", d.Record.Power.Level+1, msg))
	}
	d.cutNoMore()
	d.giveBack()
	return d.newPass(why, msg)
}

// A device that was told to take storage or network from a machine, and is dead since, is awaited like one that
// was told to cut its power (S25): whether the machine is cut off is known to nobody, and a proof may rest on it.
// It is read for as long as it takes, in Isolating and without a slot. What is seen cut goes on; what reads as
// there goes back to the gate, which alone allows another cut. As nothing else was begun, a brake, the node's
// health and a person end the wait as they end any fence before its first Off (S17).

// cutFailed counts a failed try. What must be cut is tried as often as a whole flow would, and then the fence
// fails, or awaits what it has cut; anything else is left, and said. Where the device refuses the account, the
// next try comes long after, and the slot is given to others.
func (d *decision) cutFailed(i int, why api.Reason, msg string) outcome {
	b, r := d.Decision.Isolation()[i], d.CutRecord(i)
	if b.Must && d.Record.Awaited != nil {
		return d.awaitCut(i, msg)
	}
	most := d.Attempts()
	if b.Must {
		most *= 1 + d.Decision.Settings.Power.Restarts
	}
	_, locked := d.LockedOut(&b)
	if r.Tries++; r.Tries < most && why != api.WrongMachine && (b.Must || !locked) {
		d.tell(why, fmt.Sprintf("%s (try %d of %d)", msg, r.Tries, most))
		if locked && !d.Begun() {
			d.Record.DecidedAt = nil
			return d.enter(api.Pending, d.Record.Reason, d.Record.Message)
		}
		return d.access(i).wait(d.Interval())
	}
	switch {
	case b.Must && r.SwitchedByUs && why != api.PowerOffNotSeen:
		return d.awaitCut(i, msg)
	case b.Must:
		d.fail(api.IsolationFailed, msg+"; it must be cut before the fence goes on")
		return settled
	}
	r.GaveUp = true
	d.tell(api.IsolationFailed, msg+"; going on without it")
	return goOn
}

// awaitCut goes on reading a device that must cut, more and more slowly.
func (d *decision) awaitCut(i int, msg string) outcome {
	r := d.CutRecord(i)
	if d.Record.Awaited == nil {
		d.giveBack()
		d.Record.Awaited = &api.AwaitedRecord{Since: d.Time(), Reason: api.IsolationFailed, Message: msg}
		r.Tries = 0
	}
	r.LastRead, r.FirstCut, r.NotBefore = nil, nil, d.At(d.access(i).slower())
	d.tell(api.WaitingForDevice, d.Awaits(msg))
	d.waitUntil(r.NotBefore.Time)
	return settled
}
