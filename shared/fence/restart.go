package fence

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A new pass through the flow, and the ways in which one ends.

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

func (d *decision) nodeRecovered() {
	d.switchedOnByOther()
	if (d.dec.Asker() != nil || d.dec.Trigger.OfMachine()) && !d.st.CutOrReleased {
		d.st.Outcome = api.RequestFailed
	}
	d.leave(api.Recovering, api.NodeHealthy, "the node is healthy again")
}

// healed: the node came back without us.
func (d *decision) healed() outcome {
	if !d.healthy() {
		return goOn
	}
	d.nodeRecovered()
	return settled
}

func (d *decision) undoNow(why api.Reason, msg string) outcome {
	d.st.Outcome = why
	return d.leave(api.Recovering, why, msg)
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
