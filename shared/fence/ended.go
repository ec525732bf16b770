package fence

import (
	"cmp"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/policy"
)

// ended: the node of this record is gone, or another one has its name (S6). Nothing is
// done in its name any more. What we cut is switched on again all the same, once what
// ran on it is gone (S4).
func (d *decision) ended() outcome {
	if d.Missing() {
		return d.machineGone() // which is why it was opened
	}
	why, msg := d.NodeEnded()
	if why == "" {
		return goOn
	}
	d.forgetProof()
	if o := d.awaitsWork(why, msg); o.decided {
		return o
	}
	if d.Record.Release.TimedOut {
		msg += "; " + d.LeftBehind()
	}
	d.Record.Outcome = why
	if d.OwesPowerOn() {
		d.enter(api.PoweringOn, why, msg)
	} else {
		d.leave(api.Recovering, why, msg)
	}
	return settled
}

// calledOff ends a fence whose reason has gone, or sends it back to the gate
// when a brake is on. After the first Off neither happens any more (S17, S25).
func (d *decision) calledOff() outcome {
	if d.Begun() {
		return goOn
	}
	if a := d.Requests.Abort; a != nil || d.Seen.Deleting {
		who := "the record was deleted"
		if a != nil {
			who = "asked by " + a.By
		}
		return d.undoNow(api.Aborted, who)
	}
	if !d.Unhealthy() && !d.AskedFor() && !d.StillSinceOpened() {
		if d.RequestOld() && !d.Record.CutOrReleased {
			why := "asked for more than " + api.RequestValidity.String() + " ago and not begun since"
			if at := facts.LastAsked(d.Decision); at.After(d.Now) {
				why = "asked for at " + at.UTC().Format(time.RFC3339) + ", which is still to come: the API server's clock was set back, and nobody knows how long ago that was"
			}
			return d.undoNow(api.RequestExpired, why+d.UncutSoFar())
		}
		why := "no condition of the policy holds any more"
		if d.Decision.Trigger.Suspicion() {
			why = "its Lease moves again, and no condition of the policy holds"
		}
		return d.undoNow(api.HealedBeforeFence, why+d.UncutSoFar())
	}
	if d.Record.Phase != api.Pending && d.EarlyOnly() && !d.Suspected() {
		return d.enter(api.Pending, api.LeaseStandsStill, "its Lease is no evidence any more; waiting for a condition of the policy")
	}
	return d.braked()
}

// braked sends a fence that has not cut power back to the gate.
func (d *decision) braked() outcome {
	b, why := d.Seen.Brakes, api.Reason("")
	msg := b.Message
	switch {
	case !b.Looked:
		d.stay(d.Record.Reason, d.Record.Message, facts.Handover) // not seen is not clear
		return settled
	case b.Gone:
		return d.undoNow(api.PolicyDeleted, msg+d.UncutSoFar())
	case b.Stopped:
		why = cmp.Or(b.Why, api.Stopped)
	case b.Paused:
		why = api.Paused
	case b.Stricter && d.Record.Phase != api.Pending:
		why = b.Why // in Pending the policy is resolved anew
	case b.Storm && d.Record.Phase != api.Pending:
		why = cmp.Or(b.Why, api.TooManyUnhealthy) // in Pending the reservation itself asks for the storm
	case d.BeingDeleted() && d.Record.Phase != api.Pending && d.Record.Phase != api.Releasing:
		why, msg = api.NodeBeingDeleted, d.Seen.Node.Deleting
	default:
		return d.inWindow()
	}
	d.Record.Proof = nil
	d.giveBack()
	if d.Record.Phase != api.Pending {
		d.cutAnew() // in Pending the devices were asked since, and rarely from there
	}
	if b.Stricter && b.Unmark && d.Marked() {
		d.Record.Outcome = api.SentBack // what we placed goes first
		return d.leave(api.Recovering, why, msg)
	}
	d.enter(api.Pending, why, msg)
	d.lookAfter(facts.Resync)
	return settled
}

// inWindow sends a fence that was not begun back to the gate while a window is
// open, and looks again when it ends.
func (d *decision) inWindow() outcome {
	c := policy.Closed(d.Seen.Brakes.Windows, d.Seen.Brakes.Zones, d.Now)
	if c == nil {
		return goOn
	}
	d.Record.Proof = nil
	d.giveBack()
	d.enter(api.Pending, c.Why, c.Message)
	d.lookAfter(facts.Resync)
	if !c.Until.IsZero() && c.Until.Sub(d.Now) < facts.Resync {
		d.wakeAt(c.Until)
	}
	return settled
}
