package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

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
