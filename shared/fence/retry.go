package fence

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// retry counts a failed try of the power step; too many start the flow over,
// too many of those end in Failed.
func (d *decision) retry(why api.Reason, msg string) outcome {
	if d.Record.Awaited != nil {
		return d.stillAwaited(msg)
	}
	d.Record.Retries++
	if _, locked := d.Lockout(); d.Record.Retries < d.Attempts() && !locked {
		d.tell(why, fmt.Sprintf("%s (try %d of %d)", msg, d.Record.Retries, d.Attempts()))
		return d.power().wait(d.Interval())
	}
	if d.AnotherLevel() {
		return d.nextLevel(why, msg)
	}
	if d.Record.Restarts >= d.Decision.Settings.Power.Restarts {
		return d.fail(why, msg)
	}
	d.tell(why, msg)
	begun := d.Begun()
	d.restart()
	if begun {
		// What was begun runs to its end, under the slot that it holds (S25).
		d.tell(api.FlowRestarted, fmt.Sprintf("restart %d of %d", d.Record.Restarts, d.Decision.Settings.Power.Restarts))
		return d.power().wait(d.Interval())
	}
	d.enter(api.Pending, api.FlowRestarted, fmt.Sprintf("restart %d of %d", d.Record.Restarts, d.Decision.Settings.Power.Restarts))
	d.lookAfter(d.Interval())
	return settled
}

func (d *decision) fail(why api.Reason, msg string) outcome {
	d.Record.Power.FirstOff, d.Record.Proof = nil, nil
	if d.MachineWithoutNode() {
		d.Record.Outcome = api.MachineNotDeleted // there is no node whose health would reset it: tried anew after the back-off
		return d.leave(api.Recovering, why, msg)
	}
	if d.MustAwait() {
		return d.await(why, msg)
	}
	d.enter(api.Failed, why, msg)
	d.lookAfter(facts.Resync)
	return settled
}

// slowly is for what must be tried for ever: the interval doubles up to five minutes (S25).
func (d *decision) slowly(why api.Reason, msg string) outcome {
	wait := d.power().slower()
	if d.power().lastTry() && d.Ending() {
		// A dead device must not keep a record alive that a person has ended (S27).
		d.Record.Outcome = api.Aborted
		return d.leave(api.Recovering, why, msg+"; ended by a person, the machine stays off")
	}
	d.tell(why, msg)
	return d.power().wait(wait)
}

// A new pass through the flow, and the ways in which one ends.

// restart forgets what this pass through the flow read and sent, and keeps what
// must outlive it: whether the off is ours (S12), what may still take effect
// (S8), what was placed (S22), what is proven released (S26).
func (d *decision) restart() {
	d.Record.Restarts++
	d.Record.Retries = 0
	d.Record.Awaited = nil
	if r := d.Requests.Approve; r != nil && d.Record.CutOrReleased {
		d.Record.ApprovalSince = nil
		d.answer(api.AskedApprove, r, api.Done, "power was cut or work released under it: another pass takes another approval")
	}
	d.forgetActivity()
	d.restartIsolation()
	d.Record.DecidedAt, d.Record.ReadySince, d.Record.KeptSince, d.Record.Proof = nil, nil, nil, nil
	if d.Record.Release.StartedAt == nil {
		d.Record.BootIDBefore = "" // else another boot ends the release (S4)
	}
	p := &d.Record.Power
	p.Level = 0
	p.LastRead, p.FirstOff, p.OffAt, p.OnAt, p.NotBefore = nil, nil, nil, nil, nil
}

// newPass begins another pass. A release that was done belongs to the last one.
func (d *decision) newPass(why api.Reason, msg string) outcome {
	if d.Record.Release.DoneAt != nil {
		d.Record.Release = api.ReleaseRecord{}
	}
	d.dropReservation()
	d.restart()
	d.Record.Restarts = 0
	return d.enter(api.Pending, why, msg)
}

// askedAnew is a pass that a person has asked for, who may have mended the Secret.
func (d *decision) askedAnew(msg string) outcome {
	d.Record.Power.Denied = nil
	return d.newPass(api.RetryAsked, msg)
}

func (d *decision) nodeRecovered() {
	d.switchedOnByOther()
	if (d.Decision.Asker() != nil || d.Decision.Trigger.OfMachine()) && !d.Record.CutOrReleased {
		d.Record.Outcome = api.RequestFailed
	}
	d.leave(api.Recovering, api.NodeHealthy, "the node is healthy again")
}

// healed: the node came back without us.
func (d *decision) healed() outcome {
	if !d.Healthy() {
		return goOn
	}
	d.nodeRecovered()
	return settled
}

func (d *decision) undoNow(why api.Reason, msg string) outcome {
	d.Record.Outcome = why
	return d.leave(api.Recovering, why, msg)
}

// endAsked: a person ends a record that is given up or stays off (S27).
func (d *decision) endAsked() outcome {
	if d.Requests.Abort == nil && !d.Seen.Deleting {
		return goOn
	}
	return d.undoNow(api.Aborted, "ended by a person")
}

// endBegun is endAsked where power may have been cut: what we cut is switched on
// first, unless it is to stay off (S25).
func (d *decision) endBegun() outcome {
	if !d.OwesPowerOn() || d.Requests.Abort == nil && !d.Seen.Deleting {
		return d.endAsked()
	}
	d.takeOver()
	d.Record.Outcome = api.Aborted
	return d.enter(api.PoweringOn, api.Aborted, "ended by a person; the machine that we cut is switched on first")
}

// nextLevel goes on to the node's next device. What the last one said does not
// count for this one (S3); what it may still do is waited for before any power-on.
func (d *decision) nextLevel(why api.Reason, msg string) outcome {
	d.tell(why, msg)
	p := &d.Record.Power
	p.Level++
	p.LastRead, p.FirstOff, p.OffAt, p.NotBefore = nil, nil, nil, nil
	d.Record.Retries = 0
	b := d.Binding()
	d.tell(api.NextLevel, fmt.Sprintf("level %d of %d: %s", p.Level+1, d.Levels(), b.Words()))
	d.lookAfter(0)
	return settled
}

// noteCut remembers that this level was told to cut the power.
func (d *decision) noteCut() {
	if !slices.Contains(d.Record.Power.Cut, d.Record.Power.Level) {
		d.Record.Power.Cut = append(d.Record.Power.Cut, d.Record.Power.Level)
	}
}

// undoNextLevel: this level reads on; a lower one that was cut is next.
func (d *decision) undoNextLevel() outcome {
	p := &d.Record.Power
	p.Cut = slices.DeleteFunc(slices.Clone(p.Cut), func(l int32) bool { return l == p.Level })
	if len(p.Cut) == 0 {
		p.Cut = nil
		return goOn
	}
	d.tell(api.SeenOn, fmt.Sprintf("level %d reads on", p.Level+1))
	p.Level = d.HighestCut()
	p.LastRead, p.OnAt, p.NotBefore = nil, nil, nil
	d.lookAfter(0)
	return settled
}
