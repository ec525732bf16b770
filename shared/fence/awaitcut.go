package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A device that was told to take storage or network from a machine, and is dead since, is
// awaited like one that was told to cut its power (S25): whether the machine is cut off is
// known to nobody, and a proof may rest on it. It is read for as long as it takes, in
// Isolating and without a slot. What is seen cut goes on; what reads as there goes back to
// the gate, which alone allows another cut. As nothing else was begun, a brake, the node's
// health and a person end the wait as they end any fence before its first Off (S17).

// cutFailed counts a failed try. What must be cut is tried as often as a whole flow
// would, and then the fence fails, or awaits what it has cut; anything else is left, and
// said. Where the device refuses the account, the next try comes long after, and the slot
// is given to others.
func (d *decision) cutFailed(i int, why api.Reason, msg string) outcome {
	b, r := d.dec.Isolation()[i], d.record(i)
	if b.Must && d.st.Awaited != nil {
		return d.awaitCut(i, msg)
	}
	most := d.attempts()
	if b.Must {
		most *= 1 + d.dec.Settings.Power.Restarts
	}
	_, locked := d.lockedOut(&b)
	if r.Tries++; r.Tries < most && why != api.WrongMachine && (b.Must || !locked) {
		d.tell(why, fmt.Sprintf("%s (try %d of %d)", msg, r.Tries, most))
		if locked && !d.begun() {
			d.st.DecidedAt = nil
			return d.enter(api.Pending, d.st.Reason, d.st.Message)
		}
		return d.access(i).wait(d.interval())
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
	r := d.record(i)
	if d.st.Awaited == nil {
		d.giveBack()
		d.st.Awaited = &api.AwaitedRecord{Since: d.time(), Reason: api.IsolationFailed, Message: msg}
		d.st.MinReaderVersion = max(d.st.MinReaderVersion, api.SchemaAwaited)
		r.Tries = 0
	}
	r.LastRead, r.FirstCut, r.NotBefore = nil, nil, d.at(d.access(i).slower())
	d.tell(api.WaitingForDevice, d.awaits(msg))
	d.waitUntil(r.NotBefore.Time)
	return settled
}
