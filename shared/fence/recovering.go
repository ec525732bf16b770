package fence

import (
	"cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// recovering waits for health, undoes what was placed, and closes the record.
func (d *decision) recovering() outcome {
	mine := d.Seen.Node.Exists && d.Seen.Node.UID == d.Decision.NodeUID
	if d.Record.Outcome == "" && !mine && !d.Decision.Trigger.Missing() {
		d.Record.Outcome = api.NodeGone
		if d.Seen.Node.Exists {
			d.Record.Outcome = api.NodeReplaced
		}
	}
	if o := d.clearOutOfService(); o.decided {
		return o // before anything else: the node may be on (S23)
	}
	d.notBackYet()
	if d.Record.Outcome == "" {
		if o := d.awaitHealth(); o.decided {
			return o
		}
		d.Record.Outcome = cmp.Or(d.Record.Outcome, d.recoveredAs())
	}
	return d.undo()
}

// awaitHealth: healthy for the set time, or the flow starts over (S26).
func (d *decision) awaitHealth() outcome {
	if d.Healthy() || d.healthySinceOff() {
		d.noLateOff()
		if d.Record.ReadySince == nil {
			d.Record.ReadySince = d.At(0)
			d.tell(api.NodeHealthy, "the node is Ready; it must stay so for "+d.Decision.Settings.Recovery.ReadyDuration.Duration.String())
		}
		left := d.Decision.Settings.Recovery.ReadyDuration.Duration - d.Since(d.Record.ReadySince)
		if left <= 0 {
			return d.keptBack()
		}
		d.lookAfter(left)
		return settled
	}
	d.Record.ReadySince = nil
	d.illAgain()
	if o := d.returnRefuted(); o.decided {
		return o
	}
	left := d.Decision.Settings.Recovery.BootTimeout.Duration - d.Since(d.Record.PhaseSince)
	if left > 0 {
		d.lookAfter(min(left, d.LifeShows()))
		return settled
	}
	return d.bootFailed("the node was not healthy within " + d.Decision.Settings.Recovery.BootTimeout.Duration.String())
}

// healthySinceOff: healthy, by a Lease that was seen to move after the machine was proven off,
// maybe before this phase began: it may have booted while its device was still waited for.
// Whatever moves a Lease after such a proof is a life of its own (S3), and no renewal more of
// it need be waited for. A machine that was cut off from its storage, or that dumped its
// memory, was not off by that: there the Lease must move anew.
func (d *decision) healthySinceOff() bool {
	p := d.Record.Proof
	return p != nil && offBy[p.Type] && d.HealthySince(&p.At)
}

// returnRefuted sends a fence that waits for health back to the gate, once the node shows no life and a refutation
// stands. No boot is waited for: nobody knows whether the machine was off. At the gate a person's word that the machine is
// off releases the work. A fence that a person's word has released already waits for the boot. If the process dies on the
// next line, the next look decides the same.
func (d *decision) returnRefuted() outcome {
	p, r := d.Record.Proof, d.Record.Refuted
	word := p != nil && p.Type == api.ProofConfirmed
	if r == nil || word || d.Ending() || !d.Unhealthy() || d.LeaseFresh() || d.LeaseGone() || d.MayBeLate() {
		return goOn
	}
	if d.Record.Power.OffAt != nil {
		return d.bootFailed("the node shows no life") // whose look at the power finds what a late Off has done (S8)
	}
	d.Record.Release = api.ReleaseRecord{}
	d.restart()
	return d.enter(api.Pending, api.CutRefuted, r.Words())
}

// bootFailed ends the wait for a node's health, for the reason that msg tells.
func (d *decision) bootFailed(msg string) outcome {
	if d.Seen.Deleting || d.Requests.Abort != nil {
		d.Record.Outcome = api.Aborted
		d.tell(api.BootTimedOut, msg+"; the record ends as asked")
		return goOn
	}
	d.tell(api.BootTimedOut, msg)
	if d.Record.Power.OffAt != nil {
		// A late Off of ours may have taken the power again: see that before
		// anything else (S8). Once a pass.
		p := &d.Record.Power
		p.OffAt, p.OnAt, p.LastRead, p.SwitchedByUs = nil, nil, nil, true
		return d.enter(api.PoweringOn, api.BootTimedOut, msg+"; looking at its power again")
	}
	if d.Record.Restarts >= d.Decision.Settings.Power.Restarts {
		return d.fail(api.BootTimedOut, msg)
	}
	d.Record.Release = api.ReleaseRecord{}
	d.restart()
	return d.enter(api.Pending, api.FlowRestarted, msg)
}

// undo takes away what we placed, has the report written, and then lets the record be closed (S22, S28, S27). A power
// cut that is not judged keeps the record open for a bounded time, and keeps nothing on the node.
func (d *decision) undo() outcome {
	waits := d.Record.Report == nil && d.AwaitsJudgment()
	if d.Record.Outcome != api.SentBack && !waits {
		d.noteReport() // with the save of Undo: the report costs no further one
	}
	if d.MarksStay() {
		return d.carryOut(Undo)
	}
	if d.Record.Outcome == api.SentBack {
		d.Record.Outcome, d.Record.Placed = "", api.Placed{}
		if r := d.Record.Drain; r != nil && r.Ended != api.DrainGivenUp {
			d.Record.Drain = nil // without our marks the node fills again
		}
		return d.enter(api.Pending, d.Record.Reason, d.Record.Message)
	}
	if waits {
		return d.stay(api.NodeHealthy, "nothing of ours is left on the node, but its boot ID is the one from before its power was cut: the next status of its kubelet shows whether the machine was off", facts.Resync)
	}
	if o := d.report(); o.decided {
		return o
	}
	if d.Seen.Finalizer {
		return d.carryOut(DropFinalizer)
	}
	d.Record.Placed = api.Placed{}
	return d.enter(api.Finished, d.Record.Outcome, d.EndWords())
}

// Under recovery.uncordon: Manual a node that was fenced is not given back because it is healthy:
// somebody looks why it failed first (CloudStack keeps such a host in maintenance). It
// holds no slot meanwhile (S14), and abort, deletion and the end of its Node end it as
// they end everything (S27).

// keptBack holds a node that has been healthy for long enough, until a person gives it
// back: by spec.requests.uncordon, or by kubectl uncordon.
func (d *decision) keptBack() outcome {
	if !d.Keeps() {
		return goOn
	}
	if d.UncordonAsked() {
		d.tell(api.UncordonAsked, d.Requests.Uncordon.By+" gives the node back")
		d.answer(api.AskedUncordon, d.Requests.Uncordon, api.Accepted, "the node is given back")
		return goOn
	}
	if d.Uncordoned() {
		d.tell(api.UncordonAsked, "somebody has uncordoned the node, and so gives it back")
		return goOn
	}
	if d.Record.KeptSince == nil && d.OurCordon() {
		d.Record.KeptSince = d.At(0)
	}
	return d.stay(api.WaitingForUncordon, "healthy for "+d.Decision.Settings.Recovery.ReadyDuration.Duration.String()+"; "+d.UntilUncordoned(), facts.Resync)
}

// notBackYet has one that healed after a restart of the flow wait like any other:
// nothing was done to it in this pass, but it was in an earlier one.
func (d *decision) notBackYet() {
	switch d.Record.Outcome {
	case api.HealedBeforeFence, api.RequestExpired, api.RequestFailed:
		if d.Keeps() {
			d.Record.Outcome = ""
		}
	}
}

// illAgain says of a node that was held that its health is waited for again.
func (d *decision) illAgain() {
	d.Record.KeptSince = nil
	if d.Record.WaitsFor == api.WaitsForUncordon {
		d.tell(api.WaitingForUncordon, "not healthy any more; once it is, "+d.UntilUncordoned())
	}
}
