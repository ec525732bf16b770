package fence

import (
	"cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What several rules write down in the same way.

// giveBack has the slot go to others: what held this fence has to be over, with the
// cool-down after it, before it is given one anew (S15).
func (d *decision) giveBack() {
	if d.st.DecidedAt != nil {
		d.st.GivenBack, d.st.DecidedAt = d.st.DecidedAt, nil
	}
}

// readAnew forgets what was read before this slot: it may have been another device (S9).
func (d *decision) readAnew() { d.st.Power.LastRead, d.st.Power.FirstOff = nil, nil }

// noteOutOfServiceGone writes down that the taint does not stay.
func (d *decision) noteOutOfServiceGone() {
	d.st.Placed.OutOfService, d.st.Placed.OutOfServiceAs = false, ""
}

// switchedOnByOther: the machine is on, and where our On was not the last word, by another hand.
// What of our Offs may still take effect is ours all the same (S8); an off after that
// is not (S12).
func (d *decision) switchedOnByOther() {
	p := &d.st.Power
	p.SwitchedByUs = false
	switch {
	case p.OnAt != nil:
	case d.mayBeLate():
		p.OffAt = cmp.Or(p.OffAt, p.CutAt)
	default:
		p.OffAt = nil
	}
}

// dropYes gives back a slot that was reserved a moment ago: it was for the devices as they
// were bound then, and a person has mended something since (S11, S17). Who looks at a fence
// that has failed does not see the ledger; one whose flow began anew has forgotten its yes.
func (d *decision) dropYes() {
	d.giveBack()
	if r := d.seen.Reserved; r != nil {
		d.st.GivenBack, d.seen.Reserved = d.stamp(*r), nil
	}
}

// countCut: cuts that were a day ago before this one count no more, and are not to be
// counted for another day with it.
func (d *decision) countCut() {
	if at := d.st.Power.CutAt; at != nil && d.since(at) >= cutsCount {
		d.st.Power.Cuts = 0
	}
	d.st.Power.Cuts++
}

// forgetActivity: what was seen of a machine before its power was cut says
// nothing of it afterwards. The number goes on: it names Jobs.
func (d *decision) forgetActivity() {
	if a := d.st.ActivityChecks; a != nil && d.st.CutOrReleased {
		*a = api.ActivityRecord{CheckRound: api.CheckRound{Number: a.Number}}
	}
}

// A fence that is sent back to the gate gives back first what it cut. Where a device of it
// is dead, that may take for ever, and until then nobody would look whether the node may,
// and must, be fenced again. So after as many tries as a step has it goes back with that
// device still cut, says so, and tries again from there, more and more slowly (S22, S25).

// cutAnew has the devices that we cut asked at once under a new slot, and as often as ever.
func (d *decision) cutAnew() {
	for i := range d.st.Isolation {
		if r := &d.st.Isolation[i]; r.SwitchedByUs {
			r.Tries, r.NotBefore = 0, nil
		}
	}
}
