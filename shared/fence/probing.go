package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// Probing reads a machine that must not be switched now, under all limits, and touches
// nothing:
//
//   - Its Lease stands still, and the policy has an earlyProbe: no condition has held for its
//     time yet.
//   - The action is WaitForOff: nothing is ever switched. A machine that is seen off twice is
//     proven off by that, whoever switched it off, and its work is released. A person's word
//     (spec.requests.confirmOff) does the same, unless a device reads on (word.go).
//   - It is a check of the round under way (witness.go).
//
// One read decides. A machine that reads off is isolated, and proven off like any other. Else
// the fence waits in Pending, and its slot is given back.

// probing reads the machine once.
func (d *decision) probing() outcome {
	return first(d.ended, d.cancel, d.stale, d.readAsCheck, d.probe)
}

// awaitPerson holds for a person's word where there is no device to read, and says
// why there is none.
func (d *decision) awaitPerson() outcome {
	if d.Decision.Power(0) == nil && !d.Seen.Resolved && !d.Decision.Trigger.Missing() {
		return d.carryOut(Resolve)
	}
	msg := "no device is touched under policy " + d.Decision.Policy.Name + ": a person must confirm that the machine is off (spec.requests.confirmOff)"
	if e := d.Decision.DevicesError; e != "" {
		msg += "; its device can't be read either: " + e
	}
	return d.stay(api.WaitingForConfirmation, msg, facts.Resync)
}

// paced: the machine was read not long ago, and was not off. It is read again now
// and then, and what else the fence waits for runs.
func (d *decision) paced() outcome {
	nb := d.Record.Power.NotBefore
	if !d.MustNotSwitch() || d.ConfirmAsked() || nb == nil || !d.Now.Before(nb.Time) {
		return goOn
	}
	d.tell(d.ProbeReason(), d.Alive())
	at := nb.Time
	if d.EarlyOnly() {
		at = facts.Sooner(at, facts.ConditionsDue(d.Decision, d.Record))
	}
	d.wakeAt(facts.Sooner(at, d.Now.Add(facts.Resync)))
	return settled
}

// probe reads the machine once. If it is off, or something else has come to speak
// for it, the fence begins like any other; if not, its slot is given back.
func (d *decision) probe() outcome {
	said := d.power().response()
	if said == wrongMachine {
		return d.fail(api.WrongMachine, d.AnswersForAnother())
	}
	switch {
	case !d.MustNotSwitch() || d.ConfirmAsked():
		return d.enter(api.Isolating, api.Admitted, "it is not the Lease alone any more")
	case said == readsOff:
		return d.enter(api.Isolating, api.MachineReadOff, "the machine reads off: isolating the node, then looking again")
	case said != noResponse || d.Record.Retries > 0: // a call whose end nobody reported is none to repeat at once
		return d.standDown()
	}
	return d.power().next(false, nil, nil)
}

// probedAnew goes back from Fencing where somebody has taken our taint off a node that is marked
// only once its machine was read off: it is read again, and marked again, before anything is
// proven (S22).
func (d *decision) probedAnew() outcome {
	waits := d.Decision.Settings.Action == api.ActionWaitForOff && d.Readable() // also while a word waits
	probes := facts.Early(d.Decision.ResolvedPolicy) != nil || waits
	if !probes || d.Begun() || d.Seen.Node.Taint || d.Decision.Trigger.Missing() {
		return goOn
	}
	return d.enter(api.Probing, d.ProbeReason(), "the isolation taint is gone: reading the machine again before it is placed")
}

// standDown goes back to waiting, without a slot.
func (d *decision) standDown() outcome {
	d.Record.Retries = 0
	d.giveBack()
	d.enter(api.Pending, d.ProbeReason(), d.Alive())
	d.Record.Power.NotBefore = d.At(d.Pace())
	return settled
}

// toProbe asks for a read of the machine. From the second on it is no news, and
// must not push the story out of the record.
func (d *decision) toProbe() outcome {
	story, why := d.Record.History, d.ProbeReason()
	again := d.LastReasonIs(why)
	d.enter(api.Probing, why, fmt.Sprintf("reading the machine, and no more: %s", map[bool]string{
		true: "under policy " + d.Decision.Policy.Name + " nothing is switched off", false: "its Lease stands still",
	}[why == api.WaitingForConfirmation]))
	if again {
		d.Record.History = story
	}
	return settled
}

// An activity check may be the machine's own device. It is read in Probing, and last: once,
// under a slot that is given back at once, of a machine on which nothing was placed. What it read is
// an answer of its round and nothing else: no proof, and no reason for an Off.

// spareDevice leaves the machine alone where the round is decided without it, and
// in a dry run, which talks to no device.
func (d *decision) spareDevice(r *api.CheckRound) {
	c, last := r.Unread(facts.DeviceSuffix)
	if !last {
		return
	}
	for _, o := range r.Results {
		if o.Answer == api.AnswerError {
			c.Answer, c.Message = api.AnswerNeither, "not asked: another check went wrong"
			return
		}
	}
	if d.Decision.Power(0) == nil {
		c.Answer, c.Message = api.AnswerNeither, "not asked: nothing is bound that could tell the machine's power"
		return
	}
	if d.Decision.Settings.Mode == api.ModeDryRun {
		c.Answer, c.Message = api.AnswerNeither, "not asked: the policy is in DryRun"
	}
}

// noteDevice keeps what the machine's device has just said for the round.
func (d *decision) noteDevice() {
	a, call := d.Record.ActivityChecks, d.Seen.Call
	if !d.Reading() || !d.Lost && !d.JustRead() {
		return
	}
	c, _ := a.CheckRound.Unread(facts.DeviceSuffix)
	if c == nil {
		return
	}
	switch {
	case d.Lost: // none to repeat at once
		c.Answer, c.Message = api.AnswerError, "nobody reported the end of the read"
	case call.Wrong:
		c.Answer, c.Message = api.AnswerError, "the device answers for another machine than the one bound" // S11
	case call.Power == "Off":
		c.Answer, c.Message = api.AnswerNone, "the machine reads off"
	case call.Power == "On":
		c.Answer, c.Message = api.AnswerNeither, "the machine is on"
	default:
		c.Answer, c.Message = api.AnswerError, "the machine's power is unknown: "+call.Err // S2
	}
}

// toDevice asks for a slot, since the machine's device is spoken with under all
// limits, and hands the round over to power.
func (d *decision) toDevice() outcome {
	if o := d.holdDenied(); o.decided {
		return o // without a slot: others need it meanwhile (S14)
	}
	if r := d.slot(); r != nil {
		d.Record.DecidedAt, d.Record.ActivityChecks.Reading = d.Stamp(*r), true
		d.readAnew()
		return d.enter(api.Probing, api.CheckingActivity, "reading the machine's power for the activity checks, and no more")
	}
	if v := d.Seen.Verdict; v != nil {
		return d.stay(v.Reason, v.Message, v.Again)
	}
	return d.askGate(Reserve)
}

// readAsCheck reads the machine once for the round under way, and gives round and slot back.
func (d *decision) readAsCheck() outcome {
	if !d.Reading() {
		return goOn
	}
	a := d.Record.ActivityChecks
	if _, last := a.CheckRound.Unread(facts.DeviceSuffix); last {
		return d.power().next(false, nil, nil)
	}
	d.Record.Retries = 0
	d.Record.Power.LastRead, d.Record.Power.FirstOff = nil, nil // the fence reads for itself
	d.giveBack()
	return d.enter(api.Pending, api.CheckingActivity, "the machine was read: "+d.RoundWords())
}
