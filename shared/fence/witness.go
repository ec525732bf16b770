package fence

import (
	"fmt"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// An activity check may be the machine's own device. It is read in Probing, and last: once,
// under a slot that is given back at once, of a machine on which nothing was placed. What it read is
// an answer of its round and nothing else: no proof, and no reason for an Off.

const deviceSuffix = " device"

// DeviceCheck names the check of the machine's device at this place of the policy.
func DeviceCheck(place int) string { return fmt.Sprint(place) + deviceSuffix }

// unread is the check of the device that has not answered in the round under
// way, and whether all others have.
func unread(r *api.CheckRound) (check *api.CheckResult, last bool) {
	last = r.StartedAt != nil
	for i := range r.Results {
		switch c := &r.Results[i]; {
		case c.Answer != "":
		case strings.HasSuffix(c.Check, deviceSuffix):
			check = c
		default:
			last = false
		}
	}
	return check, last && check != nil
}

// spareDevice leaves the machine alone where the round is decided without it, and
// in a dry run, which talks to no device.
func (d *decision) spareDevice(r *api.CheckRound) {
	c, last := unread(r)
	if !last {
		return
	}
	for _, o := range r.Results {
		if o.Answer == api.AnswerError {
			c.Answer, c.Message = api.AnswerNeither, "not asked: another check went wrong"
			return
		}
	}
	if d.dec.Power(0) == nil {
		c.Answer, c.Message = api.AnswerNeither, "not asked: nothing is bound that could tell the machine's power"
		return
	}
	if d.dec.Settings.Mode == api.ModeDryRun {
		c.Answer, c.Message = api.AnswerNeither, "not asked: the policy is in DryRun"
	}
}

// noteDevice keeps what the machine's device has just said for the round.
func (d *decision) noteDevice() {
	a, call := d.st.ActivityChecks, d.seen.Call
	if !d.reading() || !d.lost && !d.justRead() {
		return
	}
	c, _ := unread(&a.CheckRound)
	if c == nil {
		return
	}
	switch {
	case d.lost: // none to repeat at once
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

// reading: the machine is read as a check.
func (d *decision) reading() bool {
	return d.st.Phase == api.Probing && d.st.ActivityChecks != nil && d.st.ActivityChecks.Reading
}

// toDevice asks for a slot, since the machine's device is spoken with under all
// limits, and hands the round over to power.
func (d *decision) toDevice() outcome {
	if o := d.holdDenied(); o.decided {
		return o // without a slot: others need it meanwhile (S14)
	}
	if r := d.seen.Reserved; r != nil && Fresh(*r, d.now, DecisionValidity) {
		d.st.DecidedAt, d.st.ActivityChecks.Reading = d.stamp(*r), true
		d.readAnew()
		return d.enter(api.Probing, api.CheckingActivity, "reading the machine's power for the activity checks, and no more")
	}
	if v := d.seen.Verdict; v != nil {
		return d.stay(v.Reason, v.Message, v.Again)
	}
	return d.askSlot()
}

// readAsCheck reads the machine once for the round under way, and gives round and slot back.
func (d *decision) readAsCheck() outcome {
	if !d.reading() {
		return goOn
	}
	a := d.st.ActivityChecks
	if _, last := unread(&a.CheckRound); last {
		return d.power().next(false, nil, nil)
	}
	d.st.Retries = 0
	d.st.Power.LastRead, d.st.Power.FirstOff = nil, nil // the fence reads for itself
	d.giveBack()
	return d.enter(api.Pending, api.CheckingActivity, "the machine was read: "+roundWords(d.dec.Settings.ActivityChecks, a))
}
