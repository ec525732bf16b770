package fence

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// pending waits for the policy's time, the binding, and a slot.
func (d *decision) pending() outcome {
	return first(d.ended, d.calledOff, d.endsAtGate, d.awaitsDevice, d.policyChanged,
		d.heldByPolicy, d.heldByNode, d.tooEarly, d.nothingToFenceBy, d.checkActivity, d.heldByMode,
		d.paced, d.refusesUs, d.fencedTooOften, d.awaitDump, d.storageDown, d.reserve)
}

// reserve goes on with a live reservation, and asks for one otherwise.
func (d *decision) reserve() outcome {
	if r := d.seen.Reserved; r != nil && Fresh(*r, d.now, DecisionValidity) {
		d.st.DecidedAt = d.stamp(*r)
		d.readAnew()
		waived := ""
		if e := d.seen.Brakes.Ended; d.said(api.StormCoolDown) && e != "" {
			waived = "; " + e
		}
		if Early(d.dec.ResolvedPolicy) != nil || d.onlyReads() {
			d.st.Power.NotBefore = nil
		}
		if d.mustNotSwitch() && !d.seen.Node.Taint && !d.confirmAsked() {
			return d.toProbe()
		}
		d.cutAnew()
		return d.enter(api.Isolating, api.Admitted, "within all limits"+d.though()+waived)
	}
	if v := d.seen.Verdict; v != nil {
		return d.stay(v.Reason, v.Message, v.Again)
	}
	return d.askSlot()
}

// holdUnmarked holds where nothing of ours is to stay on the node meanwhile.
func (d *decision) holdUnmarked(why api.Reason, msg string) outcome {
	if d.marked() && !d.begun() {
		d.st.Outcome = api.SentBack
		return d.leave(api.Recovering, why, msg)
	}
	return d.stay(why, msg+d.stillCut(), Resync)
}

// endsAtGate ends a fence that has cut power before, and waits for another slot.
func (d *decision) endsAtGate() outcome {
	if !d.begun() {
		return goOn
	}
	return first(d.endBegun, d.healed)
}

// awaitsDevice goes on with the proof of what was begun: no limit stops that (S25).
func (d *decision) awaitsDevice() outcome {
	switch {
	case d.lostBinding():
		return d.awaitBinding()
	case d.mustAwait():
		return d.await(api.WaitingForDevice, "")
	}
	return goOn
}

// policyChanged resolves the policies anew: nothing of them is frozen here (S17).
func (d *decision) policyChanged() outcome {
	if d.seen.Brakes.Changed && !d.begun() {
		return d.carryOut(Resolve)
	}
	return goOn
}

// heldByPolicy holds what the policies leave alone.
func (d *decision) heldByPolicy() outcome {
	n := d.seen.Node
	switch p := d.dec.ResolvedPolicy; {
	case p.Settings.Conflict != "":
		return d.stay(api.PolicyConflict, ConflictWords(p), Resync)
	case p.Spares(n.ControlPlane):
		return d.stay(api.ControlPlaneNode, DecidingPolicy(p)+" never fences control-plane nodes (controlPlane.fence: Never)", Resync) // S13
	case p.LeftAlone(n.Excluded) != "":
		return d.holdUnmarked(api.Excluded, p.LeftAlone(n.Excluded))
	}
	return goOn
}

// heldByNode holds what is not to be fenced now for what its node is.
func (d *decision) heldByNode() outcome {
	switch {
	case d.beingDeleted():
		return d.stay(api.NodeBeingDeleted, d.seen.Node.Deleting, Resync)
	case d.seen.Self:
		return d.stay(api.OwnMachine, "nodefence runs on this node; another replica must fence it", Handover) // S13
	}
	return goOn
}

// tooEarly waits until a condition of the policy has held for its time.
func (d *decision) tooEarly() outcome {
	due := d.dueAt()
	if !due.After(d.now) {
		return goOn
	}
	d.stay(api.WaitingForTime, "until "+due.UTC().Format(time.RFC3339), 0)
	d.wakeAt(due)
	if due.Sub(d.now) > Resync {
		d.lookAfter(Resync) // another condition may be due sooner
	}
	return settled
}

// nothingToFenceBy holds a fence that no device can make sure of, unless a person says that
// the machine is off.
func (d *decision) nothingToFenceBy() outcome {
	action := d.dec.Settings.Action
	switch {
	case d.confirmAsked():
		return goOn
	case action == api.ActionWaitForOff && !d.readable():
		return d.awaitPerson()
	case d.dec.Power(0) == nil && action.Device() && !CutOnly(d.dec) && !d.machineWithoutNode():
		return d.unbound()
	case CutOnly(d.dec) && d.earlyOnly():
		return d.stay(api.LeaseStandsStill, "its Lease stands still, and no device can show that its machine is off: waiting for a condition of the policy", Resync)
	}
	return goOn
}

// checkActivity asks whether the machine is active after all, where the policy wants it.
func (d *decision) checkActivity() outcome {
	if d.doubtful() {
		return d.checking()
	}
	return goOn
}

// heldByMode holds what the policy only wants told, or a person must approve.
func (d *decision) heldByMode() outcome {
	switch p := d.dec.ResolvedPolicy; {
	case p.Settings.Mode == api.ModeDryRun:
		return d.holdUnmarked(api.DryRun, "this node would be fenced now; "+DecidingPolicy(p)+" is in DryRun")
	case p.Settings.Mode == api.ModeRequireApproval && !Approved(d.requests, &d.st) && !d.confirmAsked():
		return d.awaitApproval("")
	}
	return goOn
}

// refusesUs waits for devices that refuse the account, unless a person's word makes them
// needless.
func (d *decision) refusesUs() outcome {
	if d.confirmAsked() {
		return goOn
	}
	return d.holdRefused()
}

// fencedTooOften holds a node whose power was cut as often in a day as its policy allows (S26).
func (d *decision) fencedTooOften() outcome {
	n, most := d.recentCuts(), d.dec.Settings.PerNode.CutsPerDay
	if n < most {
		return goOn
	}
	return d.stay(api.NodeFencedTooOften, fmt.Sprintf("power was cut %d times in 24 hours, allowed are %d (limits.perNode.cutsPerDay)", n, most), Resync)
}

func (d *decision) unbound() outcome {
	if !d.seen.Resolved {
		return d.carryOut(Resolve)
	}
	if d.earlyOnly() {
		return d.stay(api.BindingInvalid, d.dec.DevicesError, Resync) // the ordinary time runs
	}
	why := cmp.Or(d.dec.DevicesError, "no device switches this machine's power")
	if d.begun() || d.st.CutOrReleased {
		// Whoever breaks a configuration in between mends it too, and needs to ask for nothing:
		// it is resolved again and again (S25, S27).
		return d.stay(api.BindingInvalid, why+"; this fence has cut power, or released work, before: it goes on once that is mended", Resync)
	}
	return d.enter(api.Failed, api.BindingInvalid, why)
}

// dueAt is when the first of the conditions, or the Lease where it is evidence,
// has held for as long as the policy asks.
func (d *decision) dueAt() time.Time {
	if d.askedFor() {
		return time.Time{}
	}
	return sooner(conditionsDue(d.dec, &d.st), d.suspectAt())
}

// awaitDump holds a fence that has no slot yet. What is only to be read may be
// read: no dump is hurt by that.
func (d *decision) awaitDump() outcome {
	if d.earlyOnly() {
		return goOn
	}
	why, until := d.dumpHolds()
	if why != "" && d.dumpProves() {
		return goOn // its pods may go, and nothing else does meanwhile
	}
	if why != "" {
		d.stay(api.KdumpUnderWay, why, 0)
		if r, k := kdumpRule(d.dec), d.st.Kdump; r.ReleasePodsWhileDumping && k != nil && k.DoneAt == nil {
			until = sooner(until, d.now.Add(Handover)) // it may prove soon
		}
		return d.waitUntil(until)
	}
	if d.said(api.KdumpUnderWay) {
		d.tell(api.KdumpOver, d.dumpOver())
	}
	return goOn
}
