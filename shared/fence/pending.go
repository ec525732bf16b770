package fence

import (
	"cmp"
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/hold"
)

// pending waits for the policy's time, the binding, and a slot.
func (d *decision) pending() outcome {
	o := first(d.ended, d.backUndrained, d.cancel, d.endsAtGate, d.awaitsDevice, d.policyChanged,
		d.heldByPolicy, d.heldByNode, d.tooEarly, d.askPerson, d.nothingToFenceBy, d.powerLater, d.heldByMode, d.begins)
	d.endDryRun(o)
	return o
}

// begins asks, in their order, the checks, a person, the devices and the gate. A dry run asks the same rules.
func (d *decision) begins() outcome {
	return first(d.checkActivity, d.holdUnapproved, d.paced, d.refusesUs, d.fencedTooOften, d.awaitDump, d.storageDown, d.drainFirst, d.reserve)
}

// reserve goes on with a live reservation, and asks for one otherwise.
func (d *decision) reserve() outcome {
	d.dropOldReservation()
	if r := d.slot(); r != nil {
		d.Record.DecidedAt = d.Stamp(*r)
		d.readAnew()
		waivers := d.tellWaivers()
		if facts.Early(d.Decision.ResolvedPolicy) != nil || d.OnlyReads() {
			d.Record.Power.NotBefore = nil
		}
		if d.MustNotSwitch() && !d.Seen.Node.Taint && !d.ConfirmAsked() {
			return d.toProbe()
		}
		d.cutAnew()
		d.enter(api.Isolating, api.Admitted, "within all limits"+d.Though()+waivers)
		if d.Seen.HandsOver && !d.Missing() && !d.Seen.Node.Taint {
			return d.mark()
		}
		return settled
	}
	if v := d.Seen.Verdict; v != nil {
		return d.stay(v.Reason, v.Message, v.Again)
	}
	return d.askGate(Reserve)
}

// tellWaivers names the person who has ended the cool-down that the fence waited for, and the person who has said that the
// node is lost; empty without both.
func (d *decision) tellWaivers() (words string) {
	if e := d.Seen.Brakes.Ended; d.Record.WaitsFor == api.WaitsForCoolDown && e != "" {
		words = "; " + e
	}
	if w := d.Seen.Brakes.Lost; w != "" {
		words += "; " + w
	}
	return words
}

// holdUnmarked holds where nothing of ours is to stay on the node meanwhile.
func (d *decision) holdUnmarked(why api.Reason, msg string) outcome {
	if d.Marked() && !d.Begun() {
		d.Record.Outcome = api.SentBack
		return d.leave(api.Recovering, why, msg)
	}
	return d.stay(why, msg+d.StillCut(), facts.Resync)
}

// endsAtGate ends a fence that has cut power before, and waits for another slot.
func (d *decision) endsAtGate() outcome {
	if !d.Begun() {
		return goOn
	}
	return first(d.endBegun, d.healed)
}

// awaitsDevice goes on with the proof of what was begun: no limit stops that (S25).
// A device of which a cut is refuted is not read, unless a person's word has it read.
func (d *decision) awaitsDevice() outcome {
	switch {
	case d.Record.Refuted != nil && !d.ConfirmAsked():
		return goOn
	case d.LostBinding():
		return d.awaitBinding()
	case d.MustAwait():
		return d.await(api.WaitingForDevice, "")
	}
	return goOn
}

// policyChanged resolves the policies anew: nothing of them is frozen here (S17).
func (d *decision) policyChanged() outcome {
	if d.Seen.Brakes.Changed && !d.Begun() {
		return d.carryOut(Resolve)
	}
	return goOn
}

// heldByPolicy holds what the policies leave alone.
func (d *decision) heldByPolicy() outcome { return d.held(hold.ByPolicy) }

// heldByNode holds what is not to be fenced now for what its node is.
func (d *decision) heldByNode() outcome { return d.held(hold.ByNode) }

// held holds the fence by the first row of the group that holds.
func (d *decision) held(by hold.Group) outcome {
	all := hold.All(d.holdInput(), by)
	switch {
	case len(all) == 0:
		return goOn
	case hold.Unmarks(all):
		return d.holdUnmarked(all[0].Reason, all[0].Message)
	}
	return d.stay(all[0].Reason, all[0].Message, all[0].Again)
}

// holdInput returns the question about the fence to the table of holds.
func (d *decision) holdInput() hold.Input {
	in := hold.Input{Policy: d.Decision.ResolvedPolicy, Node: d.Seen.Node, Self: d.Seen.Self, SaidOff: d.ConfirmAsked(), Approved: facts.Approved(d.Requests, d.Record), Refuted: d.Record.Refuted,
		Asked: d.PersonAsks(), OnlyAsked: d.AskedFor() && !d.Unhealthy(), Now: d.Now}
	if at := d.Record.OpenedAt; at != nil {
		in.OpenedAt = at.Time
	}
	return in
}

// tooEarly waits until a condition of the policy has held for its time.
func (d *decision) tooEarly() outcome {
	due := d.DueAt()
	if !due.After(d.Now) {
		return goOn
	}
	d.stay(api.WaitingForTime, "until "+due.UTC().Format(time.RFC3339), 0)
	d.wakeAt(due)
	if due.Sub(d.Now) > facts.Resync {
		d.lookAfter(facts.Resync) // another condition may be due sooner
	}
	return settled
}

// askPerson holds a fence that only reports ask for, until a person approves it: a Kubernetes Event cuts
// nothing by itself (S18, S20). No drain, check or read of a device comes before. Without an approval in
// time the fence ends, and is not given up: a later failure of the node opens another fence. If the process
// dies on the next line, the same is decided again by the record alone.
func (d *decision) askPerson() outcome {
	until := d.ReportsUntil()
	switch {
	case !d.AsksPerson():
		return goOn
	case d.Decision.Settings.Mode == api.ModeDryRun:
		return d.heldByMode()
	case !until.After(d.Now):
		return d.undoNow(api.RequestExpired, "reported problems asked for it, and nobody approved it in time"+d.UncutSoFar())
	}
	d.stay(api.WaitingForApproval, "reported problems ask for this fence, and Kubernetes Events cut nothing by themselves: a person must approve it (spec.requests.approve), until "+until.UTC().Format(time.RFC3339), 0)
	d.wakeAt(until)
	if until.Sub(d.Now) > facts.Resync {
		d.lookAfter(facts.Resync) // a condition of the policy may be due sooner
	}
	return settled
}

// nothingToFenceBy holds a fence that no device can make sure of, unless a person says that
// the machine is off.
func (d *decision) nothingToFenceBy() outcome {
	action := d.Decision.Settings.Action
	switch {
	case d.ConfirmAsked():
		return goOn
	case action == api.ActionWaitForOff && !d.Readable():
		return d.awaitPerson()
	case d.Decision.Power(0) == nil && action.Device() && !facts.CutOnly(d.Decision) && !d.MachineWithoutNode():
		return d.unbound()
	case facts.CutOnly(d.Decision) && d.EarlyOnly():
		return d.stay(api.LeaseStandsStill, "its Lease stands still, and no device can show that its machine is off: waiting for a condition of the policy", facts.Resync)
	}
	return goOn
}

// heldByMode holds what the policy only wants told, before any check: a dry run makes no Job and connects to
// nothing. A fence that began under another mode is held as it is.
func (d *decision) heldByMode() outcome {
	h := hold.First(d.holdInput(), hold.ByMode)
	switch {
	case h == nil || !h.Unmark:
		return goOn
	case d.Begun() || d.Marked() || d.OwesBack():
		return d.held(hold.ByMode)
	}
	return d.rehearse(h.Message)
}

// checkActivity asks whether the machine is active after all, where the policy wants it.
func (d *decision) checkActivity() outcome {
	if d.Doubtful() {
		return d.checking()
	}
	return goOn
}

// holdUnapproved holds what a person must approve, after the checks, whose answers the person sees. The time for the
// approval runs from here.
func (d *decision) holdUnapproved() outcome {
	if hold.First(d.holdInput(), hold.ByMode) == nil {
		return goOn
	}
	return d.awaitApproval("")
}

// refusesUs waits for devices that refuse the account, unless a person's word makes them
// needless.
func (d *decision) refusesUs() outcome {
	if d.ConfirmAsked() {
		return goOn
	}
	return d.holdRefused()
}

// fencedTooOften holds a node whose power was cut as often in a day as its policy allows (S26).
func (d *decision) fencedTooOften() outcome {
	n, most := d.RecentCuts(), d.Decision.Settings.PerNode.CutsPerDay
	if n < most {
		return goOn
	}
	return d.stay(api.NodeFencedTooOften, fmt.Sprintf("power was cut %d times in 24 hours, allowed are %d (limits.perNode.cutsPerDay)", n, most), facts.Resync)
}

func (d *decision) unbound() outcome {
	if !d.Seen.Resolved {
		return d.carryOut(Resolve)
	}
	if d.EarlyOnly() {
		return d.stay(api.BindingInvalid, d.Decision.DevicesError, facts.Resync) // the ordinary time runs
	}
	why := cmp.Or(d.Decision.DevicesError, "no device switches this machine's power")
	if d.Begun() || d.Record.CutOrReleased {
		// Whoever breaks a configuration in between mends it too, and needs to ask for nothing:
		// it is resolved again and again (S25, S27).
		return d.stay(api.BindingInvalid, why+"; this fence has cut power, or released work, before: it goes on once that is mended", facts.Resync)
	}
	return d.enter(api.Failed, api.BindingInvalid, why)
}

// awaitDump holds a fence that has no slot yet. What is only to be read may be
// read: no dump is hurt by that.
func (d *decision) awaitDump() outcome {
	if d.EarlyOnly() {
		return goOn
	}
	why, until := d.DumpHolds()
	if why != "" && d.dumpProves() {
		return goOn // its pods may go, and nothing else does meanwhile
	}
	if why != "" {
		d.stay(api.KdumpUnderWay, why, 0)
		if r, k := facts.Kdump(d.Decision), d.Record.Kdump; r.ReleasePodsWhileDumping && k != nil && k.DoneAt == nil {
			until = facts.Sooner(until, d.Now.Add(facts.Handover)) // it may prove soon
		}
		return d.waitUntil(until)
	}
	if d.Record.WaitsFor == api.WaitsForDump {
		d.tell(api.KdumpOver, d.DumpOver())
	}
	return goOn
}
