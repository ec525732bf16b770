package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Probing reads a machine that must not be switched now, under all limits, and touches
// nothing:
//
//   - Its Lease stands still, and the policy has an earlyProbe: no condition has held for its
//     time yet.
//   - The action is WaitForOff: nothing is ever switched. A machine that is seen off twice is
//     proven off by that, whoever switched it off, and its work is released. A person's word
//     (spec.requests.confirmOff) does the same.
//   - It is a check of the round under way (witness.go).
//
// One read decides. A machine that reads off is isolated, and proven off like any other. Else
// the fence waits in Pending, and its slot is given back.

// probing reads the machine once.
func (d *decision) probing() outcome {
	return first(d.ended, d.calledOff, d.stale, d.readAsCheck, d.probe)
}

// awaitPerson holds for a person's word where there is no device to read, and says
// why there is none.
func (d *decision) awaitPerson() outcome {
	if d.dec.Power(0) == nil && !d.seen.Resolved && !d.dec.Trigger.Missing() {
		return d.carryOut(Resolve)
	}
	msg := "no device is touched under policy " + d.dec.Policy.Name + ": a person must confirm that the machine is off (spec.requests.confirmOff)"
	if e := d.dec.DevicesError; e != "" {
		msg += "; its device can't be read either: " + e
	}
	return d.stay(api.WaitingForConfirmation, msg, Resync)
}

// probeReason is what a fence waits for whose machine is read and not touched.
func (d *decision) probeReason() api.Reason {
	if d.dec.Settings.Action == api.ActionWaitForOff {
		return api.WaitingForConfirmation
	}
	return api.LeaseStandsStill
}

// alive is why nothing is done, in words.
func (d *decision) alive() string {
	how := "can't be read"
	if r := d.st.Power.LastRead; r != nil && r.State == api.PoweredOn {
		how = "is on"
	}
	if d.dec.Settings.Action == api.ActionWaitForOff {
		return "the machine " + how + ", and under policy " + d.dec.Policy.Name +
			" it is never switched: its work is released when it reads off, or a person confirms that it is off (spec.requests.confirmOff)"
	}
	return "its Lease stands still and the machine " + how + ": no command before a condition of the policy has held for its time"
}

// paced: the machine was read not long ago, and was not off. It is read again now
// and then, and what else the fence waits for runs.
func (d *decision) paced() outcome {
	nb := d.st.Power.NotBefore
	if !d.mustNotSwitch() || d.confirmAsked() || nb == nil || !d.now.Before(nb.Time) {
		return goOn
	}
	d.tell(d.probeReason(), d.alive())
	at := nb.Time
	if d.earlyOnly() {
		at = sooner(at, conditionsDue(d.dec, &d.st))
	}
	d.wakeAt(sooner(at, d.now.Add(Resync)))
	return settled
}

// probe reads the machine once. If it is off, or something else has come to speak
// for it, the fence begins like any other; if not, its slot is given back.
func (d *decision) probe() outcome {
	said := d.power().response()
	if said == wrongMachine {
		return d.fail(api.WrongMachine, d.answersForAnother())
	}
	switch {
	case !d.mustNotSwitch() || d.confirmAsked():
		return d.enter(api.Isolating, api.Admitted, "it is not the Lease alone any more")
	case said == readsOff:
		return d.enter(api.Isolating, api.MachineReadOff, "the machine reads off: isolating the node, then looking again")
	case said != noResponse || d.st.Retries > 0: // a call whose end nobody reported is none to repeat at once
		return d.standDown()
	}
	return d.power().next(false, nil, nil)
}

// probedAnew goes back from Fencing where somebody has taken our taint off a node that is marked
// only once its machine was read off: it is read again, and marked again, before anything is
// proven (S22).
func (d *decision) probedAnew() outcome {
	probes := Early(d.dec.ResolvedPolicy) != nil || d.onlyReads()
	if !probes || d.begun() || d.seen.Node.Taint || d.dec.Trigger.Missing() {
		return goOn
	}
	return d.enter(api.Probing, d.probeReason(), "the isolation taint is gone: reading the machine again before it is placed")
}

// standDown goes back to waiting, without a slot.
func (d *decision) standDown() outcome {
	d.st.Retries = 0
	d.giveBack()
	d.enter(api.Pending, d.probeReason(), d.alive())
	d.st.Power.NotBefore = d.at(d.pace())
	return settled
}

// pace lies between two such reads: a quarter of the time that it has been waited for.
func (d *decision) pace() time.Duration {
	if d.dec.Settings.Action == api.ActionWaitForOff {
		return min(max(Resync/3, d.since(d.st.OpenedAt)/4), SlowRetry) // nothing is about to speak for it
	}
	return min(max(ProbePoll, d.since(d.st.Lease.StillSince)/4), SlowRetry)
}

// toProbe asks for a read of the machine. From the second on it is no news, and
// must not push the story out of the record.
func (d *decision) toProbe() outcome {
	story, why := d.st.History, d.probeReason()
	again := d.said(why)
	d.enter(api.Probing, why, fmt.Sprintf("reading the machine, and no more: %s", map[bool]string{
		true: "under policy " + d.dec.Policy.Name + " nothing is switched off", false: "its Lease stands still",
	}[why == api.WaitingForConfirmation]))
	if again {
		d.st.History = story
	}
	return settled
}
