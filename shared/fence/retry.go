package fence

import (
	"fmt"

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
		return d.power().wait(d.interval())
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
		return d.power().wait(d.interval())
	}
	d.enter(api.Pending, api.FlowRestarted, fmt.Sprintf("restart %d of %d", d.st.Restarts, d.dec.Settings.Power.Restarts))
	d.lookAfter(d.interval())
	return settled
}

func (d *decision) fail(why api.Reason, msg string) outcome {
	d.st.Power.FirstOff, d.st.Proof = nil, nil
	if d.machineWithoutNode() {
		d.st.Outcome = api.MachineNotDeleted // there is no node whose health would reset it: tried anew after the back-off
		return d.leave(api.Recovering, why, msg)
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
	wait := d.power().slower()
	if d.power().lastTry() && d.ending() {
		// A dead device must not keep a record alive that a person has ended (S27).
		d.st.Outcome = api.Aborted
		return d.leave(api.Recovering, why, msg+"; ended by a person, the machine stays off")
	}
	d.tell(why, msg)
	return d.power().wait(wait)
}
