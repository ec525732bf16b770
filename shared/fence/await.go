package fence

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// A fence that has begun never stops being looked at (S25). When all tries are used up
// after power was cut, or after a release began, the machine may be off, and nobody else
// will switch it on. So its device is read for as long as it takes, more and more
// slowly. Meanwhile the fence holds no slot (S14) and sends no Off: what is seen off is
// released and switched on as ever, and what is seen on goes back to the gate.

// mustAwait: there is something that only this machine's device can end.
func (d *decision) mustAwait() bool {
	r, p := d.st.Release, d.st.Phase
	began := r.StartedAt != nil && r.DoneAt == nil && (p.HoldsSlot() || p == api.Pending)
	return (d.st.Power.SwitchedByUs || began) && d.dec.Power(0) != nil && d.dec.Settings.Action.Reads()
}

// lostBinding: we cut the power, and its device can't be resolved any more.
func (d *decision) lostBinding() bool {
	return d.st.Power.SwitchedByUs && d.dec.Power(0) == nil && !d.confirmAsked()
}

// awaitBinding resolves it again and again, as slowly as a device is read.
func (d *decision) awaitBinding() outcome {
	if !d.seen.Resolved {
		return d.carryOut(Resolve)
	}
	d.tell(api.WaitingForDevice, d.awaits(cmp.Or(d.dec.DevicesError, "no device is bound any more")))
	return d.waitUntil(d.now.Add(d.power().slower()))
}

// await takes the slot from a fence whose tries are used up, and goes on reading.
func (d *decision) await(why api.Reason, msg string) outcome {
	if d.outOfServiceStays() {
		return d.clearFirst(why, msg)
	}
	d.noteOutOfServiceGone()
	disobeyed := why == api.PowerOffNotSeen || d.refused
	on := d.justRead() && d.st.Power.LastRead.State == api.PoweredOn
	d.giveBack()
	d.restart()
	d.st.Restarts-- // it goes on where it stands
	d.st.Awaited = &api.AwaitedRecord{Since: d.time(), Reason: why, Message: clip.Message(msg), Disobeyed: disobeyed}
	d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaAwaited)
	d.st.Power.Level = d.highestCut()
	if disobeyed && on {
		return d.onAfterAll()
	}
	asked := d.st.Phase == api.Pending // somebody wants it looked at now
	d.enter(api.Fencing, api.WaitingForDevice, d.awaits(msg))
	if asked {
		return settled
	}
	d.st.Power.NotBefore = d.at(d.power().slower())
	return d.waitUntil(d.st.Power.NotBefore.Time)
}

// clearFirst goes by Failed, whose function takes the out-of-service taint off a machine
// that nobody sees off any more (S23), and comes back.
func (d *decision) clearFirst(why api.Reason, msg string) outcome {
	if d.st.Awaited == nil {
		d.st.Awaited = &api.AwaitedRecord{Since: d.time(), Reason: why, Message: clip.Message(msg)}
	}
	d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaAwaited)
	return d.enter(api.Failed, why, msg)
}

// awaits is what such a fence waits for, in words.
func (d *decision) awaits(msg string) string {
	begun := "power was cut"
	switch {
	case d.st.Power.SwitchedByUs:
	case d.st.Phase == api.Isolating:
		begun = "access was cut"
	default:
		begun = "a release was begun"
	}
	if msg != "" {
		begun += ", and then: " + msg
	}
	return begun + "; the device is read until it answers, at least every " + SlowRetry.String() + ", without a slot and without another Off"
}

// stillAwaited: the device has not answered. Where several were told to cut the power,
// the next one is asked.
func (d *decision) stillAwaited(msg string) outcome {
	if d.outOfServiceStays() {
		return d.clearFirst(d.st.Awaited.Reason, msg)
	}
	d.noteOutOfServiceGone()
	p := &d.st.Power
	p.LastRead, p.FirstOff = nil, nil
	if n := slices.Index(p.Cut, p.Level); len(p.Cut) > 1 {
		p.Level = p.Cut[(n+1)%len(p.Cut)]
	}
	d.tell(api.WaitingForDevice, d.awaits(msg))
	wait := d.power().slower()
	p.NotBefore = d.at(wait)
	return d.waitUntil(p.NotBefore.Time)
}

// endsAwaited: a person, or the node's own health, ends the wait.
func (d *decision) endsAwaited() outcome {
	a := d.st.Awaited
	if a == nil {
		return goOn
	}
	if d.ending() || d.retryAsked() {
		if d.outOfServiceStays() {
			return d.clearFirst(a.Reason, a.Message)
		}
		d.noteOutOfServiceGone()
	}
	if o := d.endBegun(); o.decided {
		d.st.Power.NotBefore = nil
		return o // in bounded time, also where the device is dead (S27)
	}
	if d.healthySince(&a.Since) {
		d.nodeRecovered()
		return settled
	}
	if r := d.requests.Retry; d.retryAsked() {
		d.answer(api.AskedRetry, r, api.Done, "the device is asked again now")
		return d.askedAnew("retry asked by " + r.By)
	}
	if c := d.callEnd; c != nil && c.Wrong {
		return d.stillAwaited("the device answers for machine " + c.Identity + ", bound is " + d.bound())
	}
	return goOn
}

// ending: a person has asked for the end of this record.
func (d *decision) ending() bool { return d.requests.Abort != nil || d.seen.Deleting }

// onAfterAll: the machine reads on, and no Off of ours can still take effect. It is not
// off by us any more; another Off is for the gate to allow, as a first one is (S17).
func (d *decision) onAfterAll() outcome {
	p, a := &d.st.Power, d.st.Awaited
	if d.mayBeLate() {
		p.NotBefore = p.EffectUntil.DeepCopy()
		d.wakeAt(p.NotBefore.Time)
		return settled
	}
	if o := d.cutNoMore(); o.decided {
		return o
	}
	if a.Disobeyed {
		d.st.Awaited = nil
		return d.enter(api.Failed, a.Reason, a.Message)
	}
	return d.newPass(api.MachineReadOn, "the machine is on: what may be sent to it now is for the gate to say")
}

// cutNoMore gives up the cut of a machine whose device reads on, and by which nothing of ours
// can still take effect. If another device was told to cut the power too, that is read next.
func (d *decision) cutNoMore() outcome {
	p := &d.st.Power
	if p.Cut = d.otherCuts(); len(p.Cut) > 0 {
		d.tell(api.MachineReadOn, fmt.Sprintf("level %d reads on", p.Level+1))
		p.Level, p.LastRead, p.NotBefore = d.highestCut(), nil, nil
		d.lookAfter(0)
		return settled
	}
	p.Cut = nil
	d.switchedOnByOther()
	return goOn
}

// A further Off may be held: by a brake, or because storm, budgets and quorum were counted
// anew. The machine reads on by then. If the fence kept its slot, another one of its set
// would wait for it, and it for that one, for ever: a budget of one, a quorum of three. So
// it goes back to the gate, where it waits like any other and holds nothing (S14). What was
// sent before can't take effect any more, and is no cut of ours from here: what the gate
// allows later is another first Off, under all that a first one is asked for (S13, S17).

// heldOff is the further Off that is not sent.
func (d *decision) heldOff() outcome {
	b := d.seen.Brakes
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
	if !b.Looked || d.mayBeLate() {
		return d.stay(why, msg, Handover)
	}
	if others := d.otherCuts(); len(others) > 0 {
		// Another device was told to cut the power, and has not shown what it did. What
		// people have stopped goes on here once they let it. What was counted may wait for
		// the very slot that this fence holds: so that device is read without one.
		if !b.Storm || b.Stopped || b.Paused || b.Stricter {
			return d.stay(why, msg, Handover)
		}
		d.st.Power.Cut = others
		return d.await(why, fmt.Sprintf("level %d reads on; %s", d.st.Power.Level+1, msg))
	}
	d.cutNoMore()
	d.giveBack()
	return d.newPass(why, msg)
}
