package fence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

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

// askSlot asks for a slot, once the devices were resolved anew: as long as there is none,
// nothing of their configuration is frozen either.
func (d *decision) askSlot() outcome {
	if !d.seen.Resolved && d.dec.Settings.Action.Reads() && !d.machineWithoutNode() && !d.confirmAsked() {
		return d.carryOut(Resolve)
	}
	return d.carryOut(Reserve)
}

// readAnew forgets what was read before this slot: it may have been another device (S9).
func (d *decision) readAnew() { d.st.Power.LastRead, d.st.Power.FirstOff = nil, nil }

// isolating places taint and cordon, and cuts off what is to be cut when they are seen.
func (d *decision) isolating() outcome {
	// A release that was begun goes on to its end, whatever the age of its yes (S25): a
	// proof by storage alone is made anew here while its pods go one by one.
	if o := first(d.ended, d.calledOff); o.decided {
		return o
	}
	if d.st.Release.StartedAt == nil && d.st.Awaited == nil {
		if o := d.outdated(); o.decided {
			return o
		}
	}
	if o := d.endsAwaited(); o.decided {
		return o
	}
	if d.missing() && (d.dec.Settings.Action.Device() || d.confirmAsked()) {
		return d.cutOff("there is no Node object on which work could be placed")
	}
	if d.missing() {
		return d.enter(api.Fenced, api.IsolatedOnly, noDeviceTouched)
	}
	if d.seen.Node.Taint && d.dec.Settings.Action == api.ActionIsolate && !d.confirmAsked() {
		return d.enter(api.Fenced, api.IsolatedOnly, noDeviceTouched)
	}
	if d.seen.Node.Taint && d.dumpProves() {
		return d.toDump()
	}
	if d.seen.Node.Taint {
		return d.cutOff("no new work is placed on this node")
	}
	// What was there before is written down before it is changed (S22).
	if !d.st.Placed.Taint {
		d.st.Placed.Cordon = !d.seen.Node.Cordoned
	}
	d.st.Placed.Taint = true
	return d.carryOut(Isolate)
}

// isolatedOnly: the fence has gone as far as a policy with action Isolate goes.
func (d *decision) isolatedOnly() bool {
	return d.st.Phase == api.Fenced && d.st.Release.DoneAt == nil
}

// noDeviceTouched is what such a fence says.
const noDeviceTouched = "no new work is placed on this node, and no device is touched: its work stays with it until it is back, or a person confirms that the machine is off (spec.requests.confirmOff)"

// holdUnmarked holds where nothing of ours is to stay on the node meanwhile.
func (d *decision) holdUnmarked(why api.Reason, msg string) outcome {
	if d.marked() && !d.begun() {
		d.st.Outcome = api.SentBack
		return d.enter(api.Recovering, why, msg)
	}
	return d.stay(why, msg+d.stillCut(), Resync)
}

// marked: something of ours is on the node, or is to be given back to it now.
func (d *decision) marked() bool {
	mine := d.seen.Node.Exists && d.seen.Node.UID == d.dec.NodeUID
	return mine && d.seen.Node.Taint || d.owesBackNow()
}

// beingDeleted: something is about to delete the node, and nothing is to be done to its machine
// meanwhile. A person's word that the machine is off touches no machine.
func (d *decision) beingDeleted() bool { return d.seen.Node.Deleting != "" && !d.confirmAsked() }

// giveBack has the slot go to others: what held this fence has to be over, with the
// cool-down after it, before it is given one anew (S15).
func (d *decision) giveBack() {
	if d.st.DecidedAt != nil {
		d.st.GivenBack, d.st.DecidedAt = d.st.DecidedAt, nil
	}
}

// begun: power was cut by us, or work was released: from here the flow runs to
// its end (S25).
func (d *decision) begun() bool { return d.st.Begun() }

// unhealthy: some condition of the policy holds now.
func (d *decision) unhealthy() bool { return slices.ContainsFunc(d.st.Evidence, d.counts) }

func (d *decision) asked() bool { return asked(d.dec, &d.st, d.now) }

func (d *decision) requestOld() bool { return requestOld(d.dec, d.now) }

// dueAt is when the first of the conditions, or the Lease where it is evidence,
// has held for as long as the policy asks.
func (d *decision) dueAt() time.Time {
	if d.asked() {
		return time.Time{}
	}
	return sooner(conditionsDue(d.dec, &d.st), d.suspectAt())
}

// stale sends a fence whose yes is too old back to the gate (S17).
func (d *decision) stale() outcome {
	if d.begun() {
		return goOn
	}
	return d.outdated()
}

// outdated does so too with a fence that has begun and was given a slot anew: its step
// out of Pending may have been saved so late that the slot is another's by now (S14).
func (d *decision) outdated() outcome {
	if d.within(d.st.DecidedAt, DecisionValidity) {
		return goOn
	}
	d.st.DecidedAt = nil
	return d.enter(api.Pending, api.DecisionExpired, "decided too long ago; asking again")
}

// recentCuts counts this node's power cuts in the last 24 hours, this flow's
// restarts included (S26).
func (d *decision) recentCuts() int32 {
	n := int32(0)
	if at := d.st.Power.CutAt; at == nil || d.since(at) < cutsCount {
		n = d.cuts()
	}
	for _, p := range d.st.Past {
		if d.now.Sub(p.ClosedAt.Time) < cutsCount {
			n += p.Cuts
		}
	}
	return n
}

// confirmAsked: a person's word that the machine is off waits for an answer.
func (d *decision) confirmAsked() bool {
	c := d.requests.ConfirmOff
	return c != nil && !d.machineWithoutNode() && !d.st.Answered(api.AskedConfirmOff, c.At)
}
