package fence

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

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
			return d.toPeek()
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
		return d.enter(api.Recovering, why, msg)
	}
	return d.stay(why, msg+d.stillCut(), Resync)
}

// pending waits for the policy's time, the binding, and a slot.
func (d *decision) pending() outcome {
	if o := first(d.ended, d.calledOff); o.decided {
		return o
	}
	if d.begun() {
		if o := first(d.endBegun, d.healed); o.decided {
			return o
		}
	}
	switch { // no limit stops the proof of what was begun (S25)
	case d.lostBinding():
		return d.awaitBinding()
	case d.mustAwait():
		return d.await(api.WaitingForDevice, "")
	}
	if d.seen.Brakes.Changed && !d.begun() {
		return d.carryOut(Resolve) // nothing of a policy is frozen here (S17)
	}
	due, n := d.dueAt(), d.seen.Node
	switch p := d.dec.ResolvedPolicy; {
	case p.Settings.Conflict != "":
		return d.stay(api.PolicyConflict, ConflictWords(p), Resync)
	case n.ControlPlane && p.Settings.ControlPlane.Fence != api.WithQuorum:
		return d.stay(api.ControlPlaneNode, DecidingPolicy(p)+" never fences control-plane nodes (controlPlane.fence: Never)", Resync) // S13
	case p.Settings.Excluded != "" || n.Excluded != "":
		return d.holdUnmarked(api.Excluded, cmp.Or(p.Settings.Excluded, n.Excluded))
	case d.beingDeleted():
		return d.stay(api.NodeBeingDeleted, n.Deleting, Resync)
	case d.seen.Self:
		return d.stay(api.OwnMachine, "nodefence runs on this node; another replica must fence it", Handover) // S13
	case due.After(d.now):
		d.stay(api.WaitingForTime, "until "+due.UTC().Format(time.RFC3339), 0)
		d.wakeAt(due)
		if due.Sub(d.now) > Resync {
			d.lookAfter(Resync) // another condition may be due sooner
		}
		return settled
	case p.Settings.Action == api.ActionWaitForOff && !d.confirmAsked() && !d.readable():
		return d.awaitPerson()
	case d.dec.Power(0) == nil && p.Settings.Action.Device() && !d.confirmAsked() && !d.cutOnly() && !d.machineWithoutNode():
		return d.unbound()
	case d.cutOnly() && d.earlyOnly() && !d.confirmAsked():
		return d.stay(api.LeaseStandsStill, "its Lease stands still, and no device can show that its machine is off: waiting for a condition of the policy", Resync)
	case d.doubtful():
		return d.checking()
	case p.Settings.Mode == api.ModeDryRun:
		return d.holdUnmarked(api.DryRun, "this node would be fenced now; "+DecidingPolicy(p)+" is in DryRun")
	case p.Settings.Mode == api.ModeRequireApproval && !d.approved() && !d.confirmAsked():
		return d.awaitApproval("")
	}
	if o := d.paced(); o.decided {
		return o
	}
	if !d.confirmAsked() {
		if o := d.holdRefused(); o.decided {
			return o
		}
	}
	if n, most := d.recentCuts(), d.dec.Settings.PerNode.CutsPerDay; n >= most {
		return d.stay(api.NodeFencedTooOften, fmt.Sprintf("power was cut %d times in 24 hours, allowed are %d (limits.perNode.cutsPerDay)", n, most), Resync)
	}
	if o := d.awaitDump(); o.decided {
		return o
	}
	if o := d.storageDown(); o.decided {
		return o
	}
	return d.reserve()
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
	if d.asked() {
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
