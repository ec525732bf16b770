package fence

import (
	"cmp"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// ended: the node of this record is gone, or another one has its name (S6). Nothing is
// done in its name any more. What we cut is switched on again all the same, once what
// ran on it is gone (S4).
func (d *decision) ended() outcome {
	if d.missing() {
		return d.machineGone() // which is why it was opened
	}
	why, msg := d.nodeEnded()
	if why == "" {
		return goOn
	}
	d.forgetProof()
	if o := d.awaitsWork(why, msg); o.decided {
		return o
	}
	if d.st.Release.TimedOut {
		msg += "; " + d.leftBehind()
	}
	d.st.Outcome = why
	if d.owesPowerOn() {
		d.enter(api.PoweringOn, why, msg)
	} else {
		d.leave(api.Recovering, why, msg)
	}
	return settled
}

// nodeEnded says why there is nothing any more in whose name anything could be done;
// empty while the node is the one that was fenced.
func (d *decision) nodeEnded() (why api.Reason, msg string) {
	switch n := d.seen.Node; {
	case n.Exists && n.UID == d.dec.NodeUID:
		return "", ""
	case n.Exists:
		return api.NodeReplaced, "another Node object of this name exists; the old record ends"
	case d.st.Release.DeleteNodeUntil != nil:
		return api.NodeDeleted, "its Node object was deleted, as the policy says (release.deleteNode)"
	}
	return api.NodeGone, "the Node object was deleted"
}

// calledOff ends a fence whose reason has gone, or sends it back to the gate
// when a brake is on. After the first Off neither happens any more (S17, S25).
func (d *decision) calledOff() outcome {
	if d.begun() {
		return goOn
	}
	if a := d.requests.Abort; a != nil || d.seen.Deleting {
		who := "the record was deleted"
		if a != nil {
			who = "asked by " + a.By
		}
		return d.undoNow(api.Aborted, who)
	}
	if !d.unhealthy() && !d.askedFor() && !d.stillSinceOpened() {
		if d.requestOld() && !d.st.CutOrReleased {
			why := "asked for more than " + api.RequestValidity.String() + " ago and not begun since"
			if at := lastAsked(d.dec); at.After(d.now) {
				why = "asked for at " + at.UTC().Format(time.RFC3339) + ", which is still to come: the API server's clock was set back, and nobody knows how long ago that was"
			}
			return d.undoNow(api.RequestExpired, why+d.uncutSoFar())
		}
		why := "no condition of the policy holds any more"
		if d.dec.Trigger.Suspicion() {
			why = "its Lease moves again, and no condition of the policy holds"
		}
		return d.undoNow(api.HealedBeforeFence, why+d.uncutSoFar())
	}
	if d.st.Phase != api.Pending && d.earlyOnly() && !d.suspected() {
		return d.enter(api.Pending, api.LeaseStandsStill, "its Lease is no evidence any more; waiting for a condition of the policy")
	}
	return d.braked()
}

// uncutSoFar is part of a sentence.
func (d *decision) uncutSoFar() string {
	if d.st.Power.Cuts > 0 {
		return "; its power was not cut again"
	}
	return "; no power was cut"
}

// braked sends a fence that has not cut power back to the gate.
func (d *decision) braked() outcome {
	b, why := d.seen.Brakes, api.Reason("")
	msg := b.Message
	switch {
	case !b.Looked:
		d.stay(d.st.Reason, d.st.Message, Handover) // not seen is not clear
		return settled
	case b.Gone:
		return d.undoNow(api.PolicyDeleted, msg+d.uncutSoFar())
	case b.Stopped:
		why = cmp.Or(b.Why, api.Stopped)
	case b.Paused:
		why = api.Paused
	case b.Stricter && d.st.Phase != api.Pending:
		why = b.Why // in Pending the policy is resolved anew
	case b.Storm && d.st.Phase != api.Pending:
		why = cmp.Or(b.Why, api.TooManyUnhealthy) // in Pending the reservation itself asks for the storm
	case d.beingDeleted() && d.st.Phase != api.Pending && d.st.Phase != api.Releasing:
		why, msg = api.NodeBeingDeleted, d.seen.Node.Deleting
	default:
		return d.inWindow()
	}
	d.st.Proof = nil
	d.giveBack()
	if d.st.Phase != api.Pending {
		d.cutAnew() // in Pending the devices were asked since, and rarely from there
	}
	if b.Stricter && b.Unmark && d.marked() {
		d.st.Outcome = api.SentBack // what we placed goes first
		return d.leave(api.Recovering, why, msg)
	}
	d.enter(api.Pending, why, msg)
	d.lookAfter(Resync)
	return settled
}

// inWindow sends a fence that was not begun back to the gate while a window is
// open, and looks again when it ends.
func (d *decision) inWindow() outcome {
	c := policy.Closed(d.seen.Brakes.Windows, d.seen.Brakes.Zones, d.now)
	if c == nil {
		return goOn
	}
	d.st.Proof = nil
	d.giveBack()
	d.enter(api.Pending, c.Why, c.Message)
	d.lookAfter(Resync)
	if !c.Until.IsZero() && c.Until.Sub(d.now) < Resync {
		d.wakeAt(c.Until)
	}
	return settled
}
