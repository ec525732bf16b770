package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// restoring takes the out-of-service taint off, and then gives back what we cut. The machine may be
// on, and a device that is dead must not keep the taint on it (S23).
func (d *decision) restoring() outcome { return first(d.clearOutOfService, d.givesBack) }

// givesBack gives back what we cut, and goes on.
func (d *decision) givesBack() outcome {
	if i := d.DeviceIndex(d.CallDevice); i >= 0 {
		d.isolationRecords()
		d.judgeBack(i)
	}
	var due time.Time
	held := d.outOfReach()
	for i := len(d.Decision.Isolation()) - 1; i >= 0; i-- {
		if r := d.CutRecord(i); r == nil || !facts.Owed(*r) {
			continue
		}
		if why := d.Withheld(i); why != "" {
			held = why
			if d.Seen.Deleting { // a record that a person has deleted comes to its end (S27)
				d.abandon(d.CutRecord(i), why)
			}
			continue
		}
		if at := d.BackAt(i); at.After(d.Now) {
			due = facts.Sooner(due, at) // another device need not wait for it
			continue
		}
		return first(d.calledAlready, func() outcome { return d.readOrGiveBack(i) })
	}
	switch {
	case !due.IsZero() && d.Record.Outcome == api.SentBack && d.Record.Claim == nil && d.AllDead():
		return d.restored() // the rest of ours is taken off the node, and the gate goes on deciding
	case !due.IsZero():
		d.wakeAt(due)
		return settled
	case d.OwesBack():
		return d.stay(api.WaitingForReboot, held, facts.Resync)
	}
	return d.restored()
}

// What we cut off is given back before the fence recovers, in reverse, each device
// until it was seen to give access, for ever, slowly and loudly (S25). One rule goes
// before that: access is never given back to a machine on which what was released may
// still write (see withheld).

// outOfReach says which of what we cut can't be given back, because its device is bound no
// more. A person who ends the fence ends that (S27).
func (d *decision) outOfReach() string {
	held := ""
	for i := range d.Record.Isolation {
		r := &d.Record.Isolation[i]
		if !facts.Owed(*r) || d.DeviceIndex(r.Device) >= 0 {
			continue
		}
		held = d.IsCut(r) + " was cut off by nodefence, and is no device of this node any more: give it back by hand, and delete this record"
		if d.Seen.Deleting || d.Requests.Abort != nil {
			d.abandon(r, "it is no device of this node any more")
		}
	}
	return held
}

// readOrGiveBack chooses the next call to a device that is to give access back. When it may
// be called was asked before.
func (d *decision) readOrGiveBack(i int) outcome {
	r, dev := d.CutRecord(i), d.access(i)
	part := dev.reads(api.PoweredOn) && r.LastRead.MissingSupply != "" // an Off or On of ours that stopped halfway
	if d.Decision.Isolation()[i].LeaveOff || !part && !dev.reads(api.PoweredOff) || r.OnAt != nil {
		return dev.call(api.CallRead) // who gives back what has no method for that is not we
	}
	r.OnAt = d.At(0)
	d.tell(api.AccessRestoreSent, "giving back "+facts.Taken(d.Decision.Isolation()[i]))
	return dev.call(api.CallOn)
}

// judgeBack takes what the device has just said.
func (d *decision) judgeBack(i int) {
	r, b, dev := d.CutRecord(i), d.Decision.Isolation()[i], d.access(i)
	said := dev.response()
	cut := said == readsOff || said == readsOn && r.LastRead.MissingSupply != "" // also if in part only
	switch {
	case said == wrongMachine:
		d.backFailed(i, r.Words()+" answers for another machine: it is not given access")
	case said == readsOn && !cut:
		*r = api.RecordOf(&b)
		d.tell(api.AccessRestored, facts.Taken(b)+" reads as given back")
	case said == noResponse || cut && r.OnAt == nil && !b.LeaveOff: // it is told, or read, next
	case cut && b.LeaveOff:
		d.backFailed(i, facts.Taken(b)+" reads cut off, and nothing that can be said to that device gives it back: the machine takes it up again by itself, or a person does it")
	case said != unknown && r.OnAt != nil && dev.shows(r.OnAt):
		r.NotBefore = d.At(facts.Poll) // on its way
	case cut:
		r.OnAt = nil
		d.backFailed(i, facts.Taken(b)+" was given back, and still reads cut off")
	default:
		d.backFailed(i, r.Words()+": "+r.LastError)
	}
}

// backFailed tries again later, less and less often, for ever; but a dead device does
// not keep a record alive that a person has ended (S27).
func (d *decision) backFailed(i int, msg string) {
	r, dev := d.CutRecord(i), d.access(i)
	wait := dev.slower()
	if dev.lastTry() && d.Ending() {
		d.abandon(r, msg)
		return
	}
	d.tell(api.RestoreFailed, msg)
	r.NotBefore = d.At(wait)
}

// abandon leaves a device cut, and says so.
func (d *decision) abandon(r *api.IsolationRecord, why string) {
	r.Abandoned = true
	if d.Record.Outcome == "" {
		d.Record.Outcome = api.Aborted
	}
	d.tell(api.LeftCutOff, d.IsCut(r)+" stays cut off, give it back by hand: ended by a person; "+why)
}

// restored goes on where the fence was going.
func (d *decision) restored() outcome {
	p, why, msg := api.Recovering, d.Record.Reason, d.Record.Message
	if then := d.Record.Restore; then != nil {
		why, msg = then.Reason, then.Message
		if d.Record.Outcome == "" {
			p = then.Then
		}
	}
	d.Record.Restore = nil
	return d.enter(p, why, msg)
}

// cutReleased ends the release of what only a cut has proven.
func (d *decision) cutReleased(why api.Reason, msg string) outcome {
	if d.OwesBack() {
		return d.leave(api.Recovering, why, msg)
	}
	d.tell(why, msg)
	return d.leave(api.Fenced, api.StaysOff, "it was not nodefence that cut this machine off from its storage")
}

// What came of each device of the isolation stands in status.isolation, by the device's
// name.

// isolationRecords has one record for each device, and those of what we cut and is bound no
// more: it is owed.
func (d *decision) isolationRecords() {
	var all []api.IsolationRecord
	for i := range d.Decision.Isolation() {
		b := &d.Decision.Isolation()[i]
		switch r := d.RecordOf(b.Name); {
		case r == nil:
			all = append(all, api.RecordOf(b))
		case r.SwitchedByUs || r.Of(b):
			all = append(all, *r)
		default:
			all = append(all, api.RecordOf(b)) // it was of another device
		}
	}
	for _, r := range d.Record.Isolation {
		if r.SwitchedByUs && d.DeviceIndex(r.Device) < 0 {
			all = append(all, r)
		}
	}
	d.Record.Isolation = all
}
