package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What we cut off is given back before the fence recovers, in reverse, each device
// until it was seen to give access, for ever, slowly and loudly (S25). One rule goes
// before that: access is never given back to a machine on which what was released may
// still write (see withheld).

// outOfReach says which of what we cut can't be given back, because its device is bound no
// more. A person who ends the fence ends that (S27).
func (d *decision) outOfReach() string {
	held := ""
	for i := range d.st.Isolation {
		r := &d.st.Isolation[i]
		if !owed(*r) || d.deviceIndex(r.Device) >= 0 {
			continue
		}
		held = d.cut(r) + " was cut off by nodefence, and is no device of this node any more: give it back by hand, and delete this record"
		if d.seen.Deleting || d.requests.Abort != nil {
			d.abandon(r, "it is no device of this node any more")
		}
	}
	return held
}

// withheld says why access is not given back yet; empty if it may be. What was
// released may be written to by another machine now. So that this one does not write
// too, it was off since, has rebooted since, or its kubelet, alive, says that it uses
// none of those volumes any more.
func (d *decision) withheld(i int) string {
	if d.mayHaveAccess(i) {
		return ""
	}
	r, n := d.st.Release, d.seen.Node
	msg := "access is given back once the node has rebooted"
	switch {
	case !n.Exists || n.UID != d.dec.NodeUID:
		msg += ", which nobody can see: its Node object is gone. Delete this record, and give access back by hand"
	case r.By == api.ProofStorageCut && !r.RebootOnly:
		msg += fmt.Sprintf(", or is Ready and uses none of the %d released volumes any more", len(r.Volumes))
	case r.By == api.ProofStorageCut:
		msg += ": not all that was released shows in its volumesInUse"
	default:
		msg += ": it was seen off, and its Lease moves under the same boot ID"
	}
	return msg
}

// mayHaveAccess: nothing that ran on the machine before can write through this device any
// more (S4).
func (d *decision) mayHaveAccess(i int) bool {
	r, n := d.st.Release, d.seen.Node
	mine := n.Exists && n.UID == d.dec.NodeUID
	rebooted := mine && r.BootID != "" && n.BootID != "" && n.BootID != r.BootID
	switch {
	case rebooted:
		return true
	case r.By == "":
		return mine || d.wasOff()
	case r.By != api.ProofStorageCut: // seen off, or said to be: unless anything speaks against that
		return !mine || !d.leaseMovedSince(*r.StartedAt)
	case d.dec.Isolation()[i].Role == api.RoleNetwork:
		return true // its storage stays cut, and without network nobody hears that it rebooted
	}
	return mine && d.unused()
}

// readOrGiveBack chooses the next call to a device that is to give access back. When it may
// be called was asked before.
func (d *decision) readOrGiveBack(i int) outcome {
	r, dev := d.record(i), d.access(i)
	if d.dec.Isolation()[i].LeaveOff || !dev.reads(api.PoweredOff) || r.OnAt != nil {
		return dev.call(api.CallRead) // who gives back what has no method for that is not we
	}
	r.OnAt = d.at(0)
	d.tell(api.AccessRestoreSent, "giving back "+taken(d.dec.Isolation()[i]))
	return dev.call(api.CallOn)
}

// judgeBack takes what the device has just said.
func (d *decision) judgeBack(i int) {
	r, b, dev := d.record(i), d.dec.Isolation()[i], d.access(i)
	said := dev.response()
	switch {
	case said == wrongMachine:
		d.backFailed(i, r.Words()+" answers for another machine: it is not given access")
	case said == readsOn:
		*r = api.RecordOf(&b)
		d.tell(api.AccessRestored, taken(b)+" reads as given back")
	case said == noResponse || said == readsOff && r.OnAt == nil && !b.LeaveOff: // it is told, or read, next
	case said == readsOff && b.LeaveOff:
		d.backFailed(i, taken(b)+" reads cut off, and nothing that can be said to that device gives it back: the machine takes it up again by itself, or a person does it")
	case said != unknown && r.OnAt != nil && dev.shows(r.OnAt):
		r.NotBefore = d.at(Poll) // on its way
	case said == readsOff:
		r.OnAt = nil
		d.backFailed(i, taken(b)+" was given back, and still reads cut off")
	default:
		d.backFailed(i, r.Words()+": "+r.LastError)
	}
}

// backFailed tries again later, less and less often, for ever; but a dead device does
// not keep a record alive that a person has ended (S27).
func (d *decision) backFailed(i int, msg string) {
	r, dev := d.record(i), d.access(i)
	wait := dev.slower()
	if dev.lastTry() && d.ending() {
		d.abandon(r, msg)
		return
	}
	d.tell(api.RestoreFailed, msg)
	r.NotBefore = d.at(wait)
}

// abandon leaves a device cut, and says so.
func (d *decision) abandon(r *api.IsolationRecord, why string) {
	r.Abandoned = true
	if d.st.Outcome == "" {
		d.st.Outcome = api.Aborted
	}
	d.tell(api.LeftCutOff, d.cut(r)+" stays cut off, give it back by hand: ended by a person; "+why)
}

// restored goes on where the fence was going.
func (d *decision) restored() outcome {
	p, why, msg := api.Recovering, d.st.Reason, d.st.Message
	if then := d.st.Restore; then != nil {
		why, msg = then.Reason, then.Message
		if d.st.Outcome == "" {
			p = then.Then
		}
	}
	d.st.Restore = nil
	return d.enter(p, why, msg)
}

// cutReleased ends the release of what only a cut has proven.
func (d *decision) cutReleased(why api.Reason, msg string) outcome {
	if d.owesBack() {
		return d.leave(api.Recovering, why, msg)
	}
	d.tell(why, msg)
	return d.leave(api.Fenced, api.StaysOff, "it was not nodefence that cut this machine off from its storage")
}
