package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// retry counts a failed try of the power step; too many start the flow over,
// too many of those end in Failed.
func (d *decision) retry(why api.Reason, msg string) outcome {
	if d.st.Awaited != nil {
		return d.stillAwaited(msg)
	}
	d.st.Retries++
	if _, locked := d.lockout(); d.st.Retries < d.attempts() && !locked {
		d.tell(why, fmt.Sprintf("%s (try %d of %d)", msg, d.st.Retries, d.attempts()))
		d.wait(d.interval())
		return settled
	}
	if d.anotherLevel() {
		return d.nextLevel(why, msg)
	}
	if d.st.Restarts >= d.dec.Settings.Power.Restarts {
		return d.fail(why, msg)
	}
	d.tell(why, msg)
	begun := d.begun()
	d.restart()
	if begun {
		// What was begun runs to its end, under the slot that it holds (S25).
		d.tell(api.FlowRestarted, fmt.Sprintf("restart %d of %d", d.st.Restarts, d.dec.Settings.Power.Restarts))
		d.wait(d.interval())
		return settled
	}
	d.enter(api.Pending, api.FlowRestarted, fmt.Sprintf("restart %d of %d", d.st.Restarts, d.dec.Settings.Power.Restarts))
	d.lookAfter(d.interval())
	return settled
}

// restart forgets what this pass through the flow read and sent, and keeps what
// must outlive it: whether the off is ours (S12), what may still take effect
// (S8), what was placed (S22), what is proven released (S26).
func (d *decision) restart() {
	d.st.Restarts++
	d.st.Retries = 0
	d.st.Awaited = nil
	if r := d.requests.Approve; r != nil && d.st.CutOrReleased {
		d.st.ApprovalSince = nil
		d.answer(api.AskedApprove, r, api.Done, "power was cut or work released under it: another pass takes another approval")
	}
	d.forgetActivity()
	d.restartIsolation()
	d.st.DecidedAt, d.st.ReadySince, d.st.KeptSince, d.st.Proof = nil, nil, nil, nil
	if d.st.Release.StartedAt == nil {
		d.st.BootIDBefore = "" // else another boot ends the release (S4)
	}
	p := &d.st.Power
	p.Level = 0
	p.LastRead, p.FirstOff, p.OffAt, p.OnAt, p.NotBefore = nil, nil, nil, nil, nil
}

// cuts is how many times this fence cut power, as the node's daily limit counts.
func (d *decision) cuts() int32 { return d.st.Power.Cuts }

// countCut: cuts that were a day ago before this one count no more, and are not to be
// counted for another day with it.
func (d *decision) countCut() {
	if at := d.st.Power.CutAt; at != nil && d.since(at) >= cutsCount {
		d.st.Power.Cuts = 0
	}
	d.st.Power.Cuts++
}

// lastCut: this machine's power was cut as often as a day allows, and the policy says
// that it stays off from there (CloudStack's recovery attempts, exceeded).
func (d *decision) lastCut() bool {
	limit := d.dec.Settings.PerNode
	return limit.OnLast != api.OnLastHold && d.recentCuts() >= limit.CutsPerDay
}

func (d *decision) fail(why api.Reason, msg string) outcome {
	d.st.Power.FirstOff, d.st.Proof = nil, nil
	if d.machineWithoutNode() {
		d.st.Outcome = api.MachineNotDeleted // there is no node whose health would reset it: tried anew after the back-off
		return d.enter(api.Recovering, why, msg)
	}
	if d.mustAwait() {
		return d.await(why, msg)
	}
	d.enter(api.Failed, why, msg)
	d.lookAfter(Resync)
	return settled
}

// slowly is for what must be tried for ever: the interval doubles up to five minutes (S25).
func (d *decision) slowly(why api.Reason, msg string) outcome {
	wait := d.slower()
	if d.st.Retries >= d.attempts() && (d.seen.Deleting || d.requests.Abort != nil) {
		// A dead device must not keep a record alive that a person has ended (S27).
		d.st.Outcome = api.Aborted
		return d.enter(api.Recovering, why, msg+"; ended by a person, the machine stays off")
	}
	d.tell(why, msg)
	d.wait(wait)
	return settled
}

// slower counts a try, and is how long after it the next one comes.
func (d *decision) slower() time.Duration {
	wait := d.pause(d.st.Retries)
	d.st.Retries++
	return wait
}

func (d *decision) attempts() int32 { return d.dec.Settings.Power.Attempts }

func (d *decision) interval() time.Duration {
	return d.dec.Settings.Power.RetryInterval.Duration
}
