package fence

import (
	"cmp"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// noteWords answers what people ask for where nothing waits for it: kept, it would be
// carried out at some later time, on another state than the one they spoke of. A word
// that a machine is off is not about the machine that was switched on since (S3).
func (d *decision) noteWords() {
	st := d.Record
	switch c := d.Requests.ConfirmOff; {
	case c == nil || st.Answered(api.AskedConfirmOff, c.At):
	case !d.HearsConfirm():
		d.answer(api.AskedConfirmOff, &c.Request, api.NotNeeded, "nothing waits for it now, and it counts for nothing later")
		d.aside(api.ConfirmedOff, c.By+" confirmed that the machine is off, which nothing waits for now: it counts for nothing later")
	case !d.IsolatedOnly() && !facts.FreedByDump(st): // with it those go back to the gate first
		d.answer(api.AskedConfirmOff, &c.Request, api.Accepted, "it is weighed against the node's Lease and what the machine's devices read when the fence comes to it, within the limits")
	}
	if r := d.Requests.Retry; d.RetryAsked() && st.Phase != api.Failed && st.Awaited == nil && !(st.Phase == api.Fenced && st.Power.SwitchedByUs) {
		d.answer(api.AskedRetry, r, api.NotNeeded, "the fence is under way, and it counts for nothing later")
		if st.Phase == api.Pending {
			d.dropReservation()
		}
		d.aside(api.RetryAsked, r.By+" asked for a retry of what is under way: it counts for nothing later")
	}
	if result, msg := d.ApprovalAnswer(); msg != "" {
		d.answer(api.AskedApprove, d.Requests.Approve, result, msg)
	}
	if a := d.Requests.Abort; a != nil {
		msg := "no power was cut and nothing released: what was placed is taken back"
		if facts.Served(st) {
			msg = "no further Off is sent; what was begun is proven, released and recovered"
		}
		d.answer(api.AskedAbort, &api.Request{By: a.By, At: a.At}, api.Accepted, msg)
	}
	d.noteUncordon()
}

// noteUncordon answers who uncordons what is not kept, so that it counts for no later recovery.
func (d *decision) noteUncordon() {
	if waits := d.Record.Phase == api.Recovering && d.Decision.Settings.Recovery.Uncordon == api.UncordonManual; waits || !d.UncordonAsked() {
		return
	}
	r := d.Requests.Uncordon
	d.answer(api.AskedUncordon, r, api.NotNeeded, "it is not kept isolated now, and it counts for no later recovery")
	d.aside(api.UncordonAsked, r.By+" asked to uncordon what is not kept isolated now: it counts for nothing later")
}

// noteWord keeps the reads of the word that waits for an answer, and forgets those of another word.
func (d *decision) noteWord() {
	r := d.Record.ConfirmReads
	if !d.ConfirmAsked() {
		d.Record.ConfirmReads = nil
		return
	}
	at := api.AnswerAt(d.Requests.ConfirmOff.At)
	if r == nil || !r.At.Equal(&at) {
		d.Record.ConfirmReads = &api.ConfirmReads{At: at}
	}
}

// noteWordRead keeps what a power device has just said, while a word waits. An answer about another
// machine is no answer about this machine (S11). A machine on its way off begins the row anew.
func (d *decision) noteWordRead(b *api.Binding, c *observed.CallResult) {
	all := d.Record.ConfirmReads
	if all == nil || c.Call != api.CallRead {
		return
	}
	r := d.WordRead(b)
	if r == nil {
		if len(all.Devices) >= facts.MaxDenied {
			all.Devices = nil // of devices that are bound no more
		}
		all.Devices = append(all.Devices, api.ConfirmRead{Device: b.Words()})
		r = &all.Devices[len(all.Devices)-1]
	}
	r.Last = &api.Read{State: api.StateOf(c.Power), Identity: c.Identity, MissingSupply: c.MissingSupply, At: *d.Stamp(c.At)}
	r.Error = c.Err
	if c.Wrong {
		r.Last.State, r.Error = api.PowerUnknown, clip.Message(cmp.Or(c.Err, "it answers for machine "+c.Machine()+", bound is "+b.Identity))
	}
	switch {
	case c.Stopping || r.Last.State == api.PoweredOn:
		r.First = nil
	case r.First == nil || !d.Within(&r.First.At, d.WordReadsHold()):
		r.First = r.Last.DeepCopy()
	}
}

// How a call to a device ended is recorded here: that of this invocation, and that of one
// which never reported.

// noteCall records what this invocation's device call gave, and ends its claim.
func (d *decision) noteCall() {
	c := d.Seen.Call
	if c == nil || d.Record.Claim == nil || d.Record.Claim.Holder != d.Seen.Me {
		return // a late result of a call whose claim is gone counts for nothing
	}
	claim := d.Record.Claim
	d.Record.Claim = nil
	if c.NotMade {
		d.notMade(claim)
		return
	}
	c.Err, c.Identity, c.MissingSupply = clip.Message(c.Err), clip.Message(c.Identity), clip.Message(c.MissingSupply) // a record that does not fit its schema could not be saved any more
	d.noteJobs(c)
	switch b := d.Decision.Device(claim.Device); {
	case b == nil:
		return // nor does that of a device which is bound no more; what it did may take effect as long as was saved (S8)
	case b.Role == api.RolePower && !d.SpokenWith(b):
		d.noteDenied(b, c)
		d.noteWordRead(b, c)
	case b.Role == api.RolePower:
		d.CallEnd = c
		d.noteWordRead(b, c)
		if c.Call == api.CallOff {
			d.Record.Power.OffError, d.Refused = c.Err, c.Refused
		}
		d.power().noteEnd(claim, c)
	case d.RecordOf(b.Name) != nil: // else it is of an earlier fence
		d.CallDevice = b.Name
		if c.Blind && d.RecordOf(b.Name).SwitchedByUs {
			c.Power, c.Err = "Off", "" // we have seen it with access, by this very binding, and cut it
		}
		d.accessBy(b).noteEnd(claim, c)
	}
}

// notMade undoes a claim whose call was not made. An Off is decided on anew, by what is seen now
// (S25: a brake that was pulled since counts). That it may have been sent stays written down:
// whether the machine is cut is read, and never concluded.
func (d *decision) notMade(claim *api.Claim) {
	d.Seen.Call = nil
	b := d.Decision.Device(claim.Device)
	switch {
	case b == nil || claim.Call == api.CallRead: // there is nothing to undo
		return
	case b.Role == api.RolePower:
		d.power().noteNotMade(claim.Call)
		if claim.Call == api.CallOff {
			d.Record.Power.OffCalls--
		}
	case d.RecordOf(b.Name) != nil:
		d.accessBy(b).noteNotMade(claim.Call)
	}
	d.tell(api.CallNotMade, "the "+string(claim.Call)+" to "+b.Words()+" waited for too long for its turn and was not sent; it is decided on anew")
}

// lostCall takes over a claim whose holder never reported.
func (d *decision) lostCall() {
	c := d.Record.Claim
	if c == nil || d.Now.Before(d.Takeover(c)) {
		return
	}
	d.Record.Claim = nil
	switch b := d.Decision.Device(c.Device); {
	case b == nil: // what there is now was not told anything
	case b.Role == api.RolePower && !d.SpokenWith(b):
		d.aside(api.CallLost, "nobody reported the end of a "+string(c.Call)+" to "+b.Words()+"; reading it again")
	case b.Role == api.RolePower:
		d.Lost = true
		d.power().noteLost(c.Call)
		say := d.tell
		if d.Record.Phase == api.Recovering {
			say = d.aside // why it is there stands: it may go back to the gate with that
		}
		say(api.CallLost, "nobody reported the end of a "+string(c.Call)+"; reading the device first")
	case d.RecordOf(b.Name) != nil:
		d.accessBy(b).noteLost(c.Call)
		d.tell(api.CallLost, "nobody reported the end of a "+string(c.Call)+" to "+b.Words()+"; reading it first")
	}
}

// noteJobs records in which Jobs an agent ran for a call.
func (d *decision) noteJobs(c *observed.CallResult) {
	d.Record.Jobs = append(d.Record.Jobs, c.Jobs...)
	if n := len(d.Record.Jobs) - facts.MaxJobs; n > 0 {
		d.Record.Jobs = d.Record.Jobs[n:]
	}
}

// noteDenied counts how often a device, of power or of the isolation, has refused us in
// a row.
func (d *decision) noteDenied(b *api.Binding, c *observed.CallResult) {
	if b == nil {
		return
	}
	was := api.Denied{Device: b.Words()}
	rest := slices.DeleteFunc(slices.Clone(d.Record.Power.Denied), func(r api.Denied) bool {
		if r.Device == was.Device {
			was = r
			return true
		}
		return false
	})
	d.Record.Power.Denied = nil
	if c.Denied {
		was.Count, was.At, was.Credentials = was.Count+1, d.Time(), c.Credentials
		rest = append(rest, was)
	}
	if len(rest) > 0 {
		d.Record.Power.Denied = rest[max(0, len(rest)-facts.MaxDenied):]
	}
}

// passOver goes on without a device of the isolation that refuses the account.
func (d *decision) passOver(i int) {
	r := d.CutRecord(i)
	r.GaveUp, r.LastError = true, cmp.Or(r.LastError, facts.RefusedOften)
	d.tell(api.IsolationFailed, r.Words()+": "+r.LastError+"; going on without it")
}

// What several rules write down in the same way.

// giveBack has the slot go to others: what held this fence has to be over, with the
// cool-down after it, before it is given one anew (S15).
func (d *decision) giveBack() {
	if d.Record.DecidedAt != nil {
		d.Record.GivenBack, d.Record.DecidedAt = d.Record.DecidedAt, nil
	}
}

// readAnew forgets what was read before this slot: it may have been another device (S9).
func (d *decision) readAnew() { d.Record.Power.LastRead, d.Record.Power.FirstOff = nil, nil }

// noteOutOfServiceGone writes down that the taint does not stay.
func (d *decision) noteOutOfServiceGone() {
	d.Record.Placed.OutOfService, d.Record.Placed.OutOfServiceAs = false, ""
}

// switchedOnByOther: the machine is on, and where our On was not the last word, by another hand. What of our Offs
// may still take effect is ours all the same (S8); an off after that is not (S12).
func (d *decision) switchedOnByOther() {
	p := &d.Record.Power
	p.SwitchedByUs, p.RebootOver = false, p.RebootOver || d.RebootBegun()
	switch {
	case p.OnAt != nil:
	case d.MayBeLate():
		p.OffAt = cmp.Or(p.OffAt, p.CutAt)
	default:
		p.OffAt = nil
	}
}

// takeOver makes another program's Off ours, where that program had begun a reboot and is gone. It is saved with
// the phase that follows, so that whoever goes on after a crash owes the power-on too (S25).
func (d *decision) takeOver() {
	if !d.Record.Power.SwitchedByUs && d.TakesOver() && d.OwesPowerOn() {
		d.Record.Power.SwitchedByUs, d.Record.CutOrReleased = true, true
		d.tell(api.MachineReadOff, "the program that "+d.Decision.Power(0).Adopted.Name+" belongs to had begun to reboot the machine, and is gone: the machine is switched on in its place")
	}
}

// dropReservation gives back a slot that was reserved a moment ago: it was for the devices as they
// were bound then, and a person has mended something since (S11, S17). Who looks at a fence
// that has failed does not see the ledger; a restarted fence has lost its admission.
func (d *decision) dropReservation() {
	d.giveBack()
	if r := d.Seen.Reserved; r != nil {
		d.Record.GivenBack, d.Seen.Reserved = d.Stamp(*r), nil
	}
}

// countCut: cuts that were a day ago before this one count no more, and are not to be
// counted for another day with it.
func (d *decision) countCut() {
	if at := d.Record.Power.CutAt; at != nil && d.Since(at) >= facts.CutsCount {
		d.Record.Power.Cuts = 0
	}
	d.Record.Power.Cuts++
}

// forgetActivity: what was seen of a machine before its power was cut says
// nothing of it afterwards. The number goes on: it names Jobs.
func (d *decision) forgetActivity() {
	if a := d.Record.ActivityChecks; a != nil && d.Record.CutOrReleased {
		*a = api.ActivityRecord{CheckRound: api.CheckRound{Number: a.Number}}
	}
}

// A fence that is sent back to the gate gives back first what it cut. Where a device of it
// is dead, that may take for ever, and until then nobody would look whether the node may,
// and must, be fenced again. So after as many tries as a step has it goes back with that
// device still cut, says so, and tries again from there, more and more slowly (S22, S25).

// cutAnew has the devices that we cut asked at once under a new slot, and as often as ever.
func (d *decision) cutAnew() {
	for i := range d.Record.Isolation {
		if r := &d.Record.Isolation[i]; r.SwitchedByUs {
			r.Tries, r.NotBefore = 0, nil
		}
	}
}
