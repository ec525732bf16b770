package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// recovering waits for health, undoes what was placed, and closes the record.
func (d *decision) recovering() outcome {
	mine := d.seen.Node.Exists && d.seen.Node.UID == d.dec.NodeUID
	if d.st.Outcome == "" && !mine && !d.dec.Trigger.Missing() {
		d.st.Outcome = api.NodeGone
		if d.seen.Node.Exists {
			d.st.Outcome = api.NodeReplaced
		}
	}
	if o := d.clearOutOfService(); o.decided {
		return o // before anything else: the node may be on (S23)
	}
	d.notBackYet()
	if d.st.Outcome == "" {
		if o := d.awaitHealth(); o.decided {
			return o
		}
		d.st.Outcome = api.Recovered
	}
	return d.undo(mine)
}

// awaitHealth: healthy for the set time, or the flow starts over (S26).
func (d *decision) awaitHealth() outcome {
	if d.healthy() {
		d.noLateOff()
		if d.st.ReadySince == nil {
			d.st.ReadySince = d.at(0)
			d.tell(api.NodeHealthy, "the node is Ready; it must stay so for "+d.dec.Settings.Recovery.ReadyDuration.Duration.String())
		}
		left := d.dec.Settings.Recovery.ReadyDuration.Duration - d.since(d.st.ReadySince)
		if left <= 0 {
			return d.keptBack()
		}
		d.lookAfter(left)
		return settled
	}
	d.st.ReadySince = nil
	d.illAgain()
	left := d.dec.Settings.Recovery.BootTimeout.Duration - d.since(d.st.PhaseSince)
	if left > 0 {
		d.lookAfter(min(left, d.lifeShows()))
		return settled
	}
	return d.bootFailed()
}

// lifeShows is when to look for health again. Where only the Lease has yet to move,
// that is its next renewal: a Node that turns Ready wakes this record, a Lease does not.
func (d *decision) lifeShows() time.Duration {
	if r := d.seen.Lease.Renewal; d.seen.Node.Ready() && !d.unhealthy() && r > 0 {
		return min(r, Resync)
	}
	return Resync
}

func (d *decision) bootFailed() outcome {
	msg := "the node was not healthy within " + d.dec.Settings.Recovery.BootTimeout.Duration.String()
	if d.seen.Deleting || d.requests.Abort != nil {
		d.st.Outcome = api.Aborted
		d.tell(api.BootTimedOut, msg+"; the record ends as asked")
		return goOn
	}
	d.tell(api.BootTimedOut, msg)
	if d.st.Power.OffAt != nil {
		// A late Off of ours may have taken the power again: see that before
		// anything else (S8). Once a pass.
		p := &d.st.Power
		p.OffAt, p.OnAt, p.LastRead, p.SwitchedByUs = nil, nil, nil, true
		return d.enter(api.PoweringOn, api.BootTimedOut, msg+"; looking at its power again")
	}
	if d.st.Restarts >= d.dec.Settings.Power.Restarts {
		return d.fail(api.BootTimedOut, msg)
	}
	d.st.Release = api.ReleaseRecord{}
	d.restart()
	return d.enter(api.Pending, api.FlowRestarted, msg)
}

// healthy: Ready, none of the policy's conditions, and a Lease that was seen to
// move since this phase began. Ready alone may be yesterday's.
func (d *decision) healthy() bool { return d.healthySince(d.st.PhaseSince) }

func (d *decision) healthySince(t *api.Time) bool {
	return d.seen.Node.Exists && d.seen.Node.Ready() && !d.unhealthy() && d.leaseFresh() && t != nil && d.leaseMovedSince(*t)
}

// undo takes away what we placed, then lets the record be closed (S22, S27).
func (d *decision) undo(mine bool) outcome {
	n := d.seen.Node
	if mine && (n.Taint || n.ScaleDownOurs || (d.st.Placed.Cordon && n.Cordoned && n.CordonOurs)) {
		return d.carryOut(Undo)
	}
	if d.st.Outcome == api.SentBack {
		d.st.Outcome, d.st.Placed = "", api.Placed{}
		return d.enter(api.Pending, d.st.Reason, d.st.Message)
	}
	if d.seen.Finalizer {
		return d.carryOut(DropFinalizer)
	}
	d.st.Placed = api.Placed{}
	return d.enter(api.Finished, d.st.Outcome, outcomes[d.st.Outcome])
}

// outcomes says each end in words.
var outcomes = map[api.Reason]string{
	api.Recovered:           "the node is back, and nothing of ours is left on it",
	api.HealedBeforeFence:   "the node healed, and nothing of ours is left on it",
	api.Aborted:             "ended as asked, and nothing of ours is left on the node",
	api.RequestExpired:      "the request grew old before it could be carried out; nothing of ours is left on the node",
	api.RequestFailed:       "the fence that was asked for failed; the node is healthy, and nothing of ours is left on it",
	api.PolicyDeleted:       "no policy selects the node any more, and nothing of ours is left on it",
	api.NodeGone:            "the Node object is gone",
	api.NodeDeleted:         "the machine stays off, and its Node object was deleted, as the policy says",
	api.MachineListedNoMore: "its deletion was asked for, and it is listed no more as a Machine that has failed or has no node",
	api.MachineNotDeleted:   "the Machine was not deleted; it is tried anew after the back-off",
	api.NodeReplaced:        "another Node object has this name",
}

// fenced is a machine that stays off until somebody switches it on.
func (d *decision) fenced() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if o := d.endAsked(); o.decided {
		return o
	}
	if r := d.requests.Retry; d.retryAsked() && d.st.Power.SwitchedByUs {
		d.answer(api.AskedRetry, r, api.Done, "the machine is switched on again")
		return d.enter(api.PoweringOn, api.RetryAsked, r.By+" wants the machine back")
	}
	if d.isolatedOnly() && d.confirmAsked() {
		return d.askedAnew(d.requests.ConfirmOff.By + " says that the machine is off")
	}
	if d.healthy() {
		why := "somebody switched the machine on"
		if d.st.Release.StartedAt == nil {
			why = "the node is healthy again"
		}
		d.switchedOnByOther()
		return d.enter(api.Recovering, api.NodeHealthy, why)
	}
	return d.stay(d.st.Reason, d.st.Message, Resync)
}

// failed is given up: a person retries, confirms or ends it, or the node heals.
func (d *decision) failed() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if o := d.clearOutOfService(); o.decided {
		return o // nobody sees the machine off any more (S23)
	}
	if o := first(d.endBegun, d.healed); o.decided {
		return o
	}
	if r := d.requests.Retry; d.retryAsked() {
		d.answer(api.AskedRetry, r, api.Done, "it is tried once more")
		return d.askedAnew("retry asked by " + r.By)
	}
	switch {
	case d.mustAwait() || d.st.Awaited != nil:
		return d.await(d.st.Reason, d.st.Message)
	case d.lostBinding():
		return d.enter(api.Pending, d.st.Reason, d.st.Message) // where it is resolved
	}
	if d.confirmAsked() {
		return d.askedAnew(d.requests.ConfirmOff.By + " says that the machine is off")
	}
	return d.stay(d.st.Reason, d.st.Message, Resync)
}

// healed: the node came back without us.
func (d *decision) healed() outcome {
	if !d.healthy() {
		return goOn
	}
	d.nodeRecovered()
	return settled
}

func (d *decision) nodeRecovered() {
	d.switchedOnByOther()
	if (d.dec.Asker() != nil || d.dec.Trigger.OfMachine()) && !d.st.CutOrReleased {
		d.st.Outcome = api.RequestFailed
	}
	d.enter(api.Recovering, api.NodeHealthy, "the node is healthy again")
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

func (d *decision) retryAsked() bool {
	r := d.requests.Retry
	return r != nil && !d.st.Answered(api.AskedRetry, r.At)
}

// newPass begins another pass. A release that was done belongs to the last one.
func (d *decision) newPass(why api.Reason, msg string) outcome {
	if d.st.Release.DoneAt != nil {
		d.st.Release = api.ReleaseRecord{}
	}
	d.dropYes()
	d.restart()
	d.st.Restarts = 0
	return d.enter(api.Pending, why, msg)
}

// askedAnew is a pass that a person has asked for, who may have mended the Secret.
func (d *decision) askedAnew(msg string) outcome {
	d.st.Power.Denied = nil
	return d.newPass(api.RetryAsked, msg)
}

// endAsked: a person ends a record that is given up or stays off (S27).
func (d *decision) endAsked() outcome {
	if d.requests.Abort == nil && !d.seen.Deleting {
		return goOn
	}
	return d.undoNow(api.Aborted, "ended by a person")
}

// endBegun is endAsked where power may have been cut: what we cut is switched on
// first, unless it is to stay off (S25).
func (d *decision) endBegun() outcome {
	if !d.owesPowerOn() || d.requests.Abort == nil && !d.seen.Deleting {
		return d.endAsked()
	}
	d.st.Outcome = api.Aborted
	return d.enter(api.PoweringOn, api.Aborted, "ended by a person; the machine that we cut is switched on first")
}
