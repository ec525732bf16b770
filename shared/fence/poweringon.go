package fence

import (
	"cmp"
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// poweringOn brings back a machine that we cut, once nothing of ours can still
// switch it off (S8). It never gives up: it tries more slowly.
func (d *decision) poweringOn() outcome {
	if d.CameBack() {
		d.switchedOnByOther()
		d.Record.Power.Cut = nil
		return d.leave(api.Recovering, api.NodeHealthy, "the node is Ready under a new boot ID")
	}
	if o := d.runsAfterAll(); o.decided {
		return o
	}
	if c := d.CallEnd; c != nil && c.Call == api.CallRead && c.Power != "On" && d.AnotherLives() {
		// Two kubelets of one name would both start its pods (S1, S6).
		d.Record.Outcome = api.NodeReplaced
		return d.leave(api.Recovering, api.NodeReplaced, "another machine is healthy under the name of the one that was cut, which stays off: switch it on by hand, under a name of its own")
	}
	if u := d.Record.Power.EffectUntil; u != nil && d.Now.Before(u.Time) && d.Record.Power.OnAt == nil {
		d.wakeAt(u.Time)
		return settled
	}
	if c := d.CallEnd; c != nil && c.Wrong {
		return d.slowly(api.WrongMachine, d.AnswersForAnother()+": not switched on")
	}
	if d.JustRead() {
		return d.judgeOn()
	}
	return d.readOrOn()
}

// maybeAnotherLives waits where another machine may live under the name.
func (d *decision) maybeAnotherLives() outcome {
	if d.MayBeAnother() {
		return d.awaitAnother()
	}
	return goOn
}

// readOrOn chooses the next call to the device.
func (d *decision) readOrOn() outcome {
	lacking := d.FreshlyRead(api.PoweredOn) && d.Record.Power.LastRead.MissingSupply != ""
	return d.power().next(lacking || d.FreshlyRead(api.PoweredOff), d.Record.Power.OnAt, func() outcome {
		return first(d.maybeAnotherLives, d.switchOn)
	})
}

// switchOn sends the On, to a machine that reads off, or to a supply of it that does.
func (d *decision) switchOn() outcome {
	p := &d.Record.Power
	p.OnAt = d.At(0)
	p.OnCalls++
	if p.LastRead.State == api.PoweredOn {
		p.SupplyTries++
	}
	d.tell(api.PowerOnSent, fmt.Sprintf("switching on, call number %d", p.OnCalls))
	return d.power().call(api.CallOn)
}

// judgeOn takes what the device has just said.
func (d *decision) judgeOn() outcome {
	switch d.power().response() {
	case readsOn:
		return d.seenOn()
	case readsOff:
		return d.stillOff()
	}
	return d.slowly(cmp.Or(d.Seen.Call.Why, api.DeviceFailed), d.Record.Power.LastError)
}

// seenOn hands the machine on, once each of its levels, and each supply that can be had, is on.
func (d *decision) seenOn() outcome {
	if lacks := d.Record.Power.LastRead.MissingSupply; lacks != "" {
		if o := d.onAgain(lacks); o.decided {
			return o
		}
	}
	d.Record.Retries, d.Record.Power.SupplyTries = 0, 0
	if o := d.undoNextLevel(); o.decided {
		return o
	}
	d.switchedOnByOther()
	return d.leave(api.Recovering, api.SeenOn, "the machine reads on")
}

// stillOff: On it, or wait for the On to take effect.
func (d *decision) stillOff() outcome {
	switch {
	case d.Record.Power.OnAt == nil:
		d.lookAfter(0)
		return settled
	case d.power().shows(d.Record.Power.OnAt):
		return d.power().wait(facts.Poll)
	}
	d.Record.Power.OnAt = nil
	return d.slowly(api.PowerOnNotSeen, "power-on was sent, and the machine still reads off")
}

// onAgain: the machine is on, and one of the supplies that were cut with it is not. It
// is asked for again (S25), as often as a step is tried: with a supply that is dead a
// machine that runs recovers all the same. What counts are the Ons that were sent for it:
// a device that was away before was not asked yet.
func (d *decision) onAgain(lacks string) outcome {
	p := &d.Record.Power
	switch {
	case p.OnAt != nil && d.power().shows(p.OnAt):
		return d.power().wait(facts.Poll)
	case p.SupplyTries >= d.Attempts():
		d.tell(api.PowerOnNotSeen, "the machine reads on, and "+lacks+": it is to be switched on by hand")
		return goOn
	case p.OnAt == nil:
		d.tell(api.SeenOn, "the machine reads on, but "+lacks)
		d.lookAfter(0)
		return settled
	}
	p.OnAt = nil
	d.tell(api.PowerOnNotSeen, fmt.Sprintf("power-on was sent, the machine reads on, but %s (try %d of %d)", lacks, p.SupplyTries+1, d.Attempts()))
	return d.power().wait(d.Interval())
}

// awaitAnother sends no On until that Lease has moved, which ends this fence by the next
// read, or has stood still for too long (S1, S6).
func (d *decision) awaitAnother() outcome {
	if d.AnotherLives() {
		return d.power().call(api.CallRead)
	}
	d.tell(api.NodeReplaced, "the machine reads off, and a Node of another machine is Ready under its name: waiting for its Lease before the machine is switched on")
	return d.power().wait(d.LifeShows())
}

// noLateOff: the node is healthy, and nothing of ours can switch its machine off any
// more: whatever does from here is another hand (S12).
func (d *decision) noLateOff() {
	if !d.MayBeLate() {
		d.Record.Power.OffAt = nil
	}
}
