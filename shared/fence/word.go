package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// A person's word that the machine is off stands in for devices that can't be read, and never
// counts against a device that can (S1, S2). So each power device of the machine is read before the
// word counts, whatever the levels that the policy switches:
//
//   - A device that reads on refuses the word.
//   - The word counts once each device was read twice, a settle apart, without reading on. A lost
//     packet alone is no licence.
//   - The word counts at once where no device is bound.
//
// The reads are made in Fencing, the only phase in which a word becomes a proof, under the claim of
// every call (S7). They stand in the record: if the process dies between two reads, the next
// invocation makes the second read. A call whose end nobody reported is no read, and is made again.

// weighWord weighs a person's word, where one waits for an answer.
func (d *decision) weighWord() outcome {
	if !d.ConfirmAsked() {
		return goOn
	}
	if why, msg := d.refutesWord(); why != "" {
		return d.refuseWord(why, msg)
	}
	return first(d.readForWord, d.takeWord)
}

// refutesWord says what speaks against the person's word; empty if nothing does.
func (d *decision) refutesWord() (why api.Reason, msg string) {
	switch {
	case d.LeaseFresh():
		return api.SignOfLife, "the node's Lease moves: the machine is not off"
	case d.LeaseGone():
		return api.SignOfLife, "the node's Lease moved a moment ago, and is gone now: nobody can tell that the machine is off"
	}
	if device, r := d.ReadOnAgainstWord(); r != nil {
		return api.MachineReadOn, device + " read on at " + r.At.UTC().Format(time.RFC3339) + ": the machine is not off. " +
			"Have nodefence cut its power (wait, or approve the fence; the policy's action must be Reboot or PowerOff), " +
			"or mend the binding if this device is not the machine's own; then confirm again"
	}
	return "", ""
}

// refuseWord refuses the word. The fence goes back to the gate unless it has begun: the word may
// have led it past an approval, a drain or a check, and these count again (S17). Nothing of ours
// stays on a node whose machine must be read off before it is marked (S22).
func (d *decision) refuseWord(why api.Reason, msg string) outcome {
	c := d.Requests.ConfirmOff
	d.answer(api.AskedConfirmOff, &c.Request, api.Refused, clip.Message(msg))
	d.Record.ConfirmReads = nil
	told := c.By + "'s confirmation that the machine is off is refused: " + msg
	if d.Begun() {
		return d.stay(why, told, facts.Handover)
	}
	d.dropReservation()
	if d.MustNotSwitch() && d.Marked() {
		d.Record.Outcome = api.SentBack
		return d.leave(api.Recovering, why, told)
	}
	return d.enter(api.Pending, why, told)
}

// readForWord reads the device that is due next, and waits until each was read often enough.
// Whatever ends the fence, or sends it back to the gate, comes before a read.
func (d *decision) readForWord() outcome {
	b, due := d.NextWordRead()
	if b == nil {
		return goOn
	}
	if o := first(d.awaitEnds, d.cancel, d.stale, d.livesAgain); o.decided {
		return o
	}
	d.tell(api.ReadingDevices, d.Requests.ConfirmOff.By+" confirmed that the machine is off; its devices are read first, twice each: "+d.WordReads())
	if d.Now.Before(due) {
		d.wakeAt(due)
		return settled
	}
	if o := d.calledAlready(); o.decided {
		return o
	}
	dev := d.power()
	dev.b = b
	return dev.call(api.CallRead)
}

// takeWord takes the word for the proof (S1). Where the device that is spoken with has read off
// twice, the reads are the proof: reads are made anew for each batch of a release, and a word is not.
func (d *decision) takeWord() outcome {
	c := d.Requests.ConfirmOff
	if d.DrainGoesOn() {
		d.drainEnds(api.DrainSkipped)
	}
	reads := d.WordReads()
	r := d.readOffTwice()
	d.Record.ConfirmReads = nil
	if r != nil {
		d.answer(api.AskedConfirmOff, &c.Request, api.Done, clip.Message("the machine's device says so too, which is taken for the proof: "+reads))
		d.Record.Power.LastRead = r.Last
		d.proveOff(r.First, r.Last)
		return d.enter(api.Releasing, api.SeenOff, c.By+" confirmed that the machine is off, and its device says so: "+reads)
	}
	if reads != "" {
		reads = "; no device reads on: " + reads
	} else if e := d.Decision.DevicesError; e != "" {
		reads = "; no device can be read: " + e
	}
	d.answer(api.AskedConfirmOff, &c.Request, api.Done, clip.Message("taken for the proof that the machine is off"+reads))
	d.proveByWord(c.By)
	return d.enter(api.Releasing, api.ConfirmedOff, c.By+" confirmed that the machine is off"+reads)
}

// readOffTwice is what was read of the device that is spoken with, where both reads say off and
// the policy has the device read on. Where the boot ID refutes a power cut of the node, no read of off counts.
func (d *decision) readOffTwice() *api.ConfirmRead {
	b := d.Binding()
	if b == nil || !d.Decision.Settings.Action.Reads() || d.Record.Refuted != nil {
		return nil
	}
	r := d.WordRead(b)
	if r == nil || r.First == nil || r.Last == nil || r.First.State != api.PoweredOff || r.Last.State != api.PoweredOff || d.LeaseMovedSince(r.First.At) {
		return nil
	}
	return r
}
