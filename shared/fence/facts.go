package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Questions about one fence: its node and Lease, what was asked for, how far it has come. None
// of them changes anything.

// leaseFresh: the Lease has not yet missed two renewals. No Lease is not fresh.
func (d *decision) leaseFresh() bool {
	s := d.st.Lease.StillSince
	return d.seen.Lease.Exists && s != nil && d.now.Sub(s.Time) < 2*d.seen.Lease.Renewal
}

// leaseGone: a Lease that was seen to move lately is there no more, so that nobody can see
// whether it would still move. A kubelet that lives makes it anew.
func (d *decision) leaseGone() bool {
	s := d.st.Lease.StillSince
	return !d.seen.Lease.Exists && s != nil && d.since(s) < 2*slowestRenewal
}

// leaseMovedSince: the Lease was seen to move after t, a sign of life (S3).
func (d *decision) leaseMovedSince(t api.Time) bool {
	s := d.st.Lease.StillSince
	return d.seen.Lease.Exists && s != nil && s.After(t.Time)
}

// requested: an event asked for this fence, and it is not served yet.
func requested(dec *api.Decision, st *api.NodeFenceStatus, now time.Time) bool {
	return dec.Asker() != nil && !st.CutOrReleased && !requestExpired(dec, now)
}

func (d *decision) askedFor() bool { return requested(d.dec, &d.st, d.now) }

// requestExpired: what was asked for and held for too long is not carried out late
// (S17). Where a person approves, the time for that is the limit. One of a time that is
// still to come is of unknown age, unless two API servers' clocks may lie so far apart: an
// end is for good, and not for a difference of seconds.
func requestExpired(dec *api.Decision, now time.Time) bool {
	limit := api.RequestValidity
	if dec.Asker() == nil {
		return false
	}
	if dec.Settings.Mode == api.ModeRequireApproval {
		limit += dec.Settings.ApprovalTimeout.Duration
	}
	age := now.Sub(lastAsked(dec))
	return age > limit || age < -DecisionValidity
}

// lastAsked is when the last request came. It counts: each has passed all that the first one
// has.
func lastAsked(dec *api.Decision) (at time.Time) {
	for _, r := range dec.AskedBy {
		if r.JoinedAt.After(at) {
			at = r.JoinedAt.Time
		}
	}
	return at
}

func (d *decision) requestOld() bool { return requestExpired(d.dec, d.now) }

// confirmAsked: a person's word that the machine is off waits for an answer.
func (d *decision) confirmAsked() bool {
	c := d.requests.ConfirmOff
	return c != nil && !d.machineWithoutNode() && !d.st.Answered(api.AskedConfirmOff, c.At)
}

// begun: power was cut by us, or work was released: from here the flow runs to
// its end (S25).
func (d *decision) begun() bool { return d.st.Begun() }

// unhealthy: some condition of the policy holds now.
func (d *decision) unhealthy() bool { return slices.ContainsFunc(d.st.Evidence, d.counts) }

// counts: this evidence speaks for the fence now. That of a Machine, which may stay
// Failed whatever becomes of the node, does so until power was cut or work released,
// and in no fence that was given up.
func (d *decision) counts(e api.Evidence) bool {
	switch {
	case e.Type != api.TriggerMachine:
		return true
	case d.st.CutOrReleased:
		return false
	}
	return d.st.Phase.LeadsToRelease()
}

func (d *decision) retryAsked() bool {
	r := d.requests.Retry
	return r != nil && !d.st.Answered(api.AskedRetry, r.At)
}

// healthy: Ready, none of the policy's conditions, and a Lease that was seen to
// move since this phase began. Ready alone may be yesterday's.
func (d *decision) healthy() bool { return d.healthySince(d.st.PhaseSince) }

func (d *decision) healthySince(t *api.Time) bool {
	return d.seen.Node.Exists && d.seen.Node.Ready() && !d.unhealthy() && d.leaseFresh() && t != nil && d.leaseMovedSince(*t)
}

// lifeShows is when to look for health again. Where only the Lease has yet to move,
// that is its next renewal: a Node that turns Ready wakes this record, a Lease does not.
func (d *decision) lifeShows() time.Duration {
	if r := d.seen.Lease.Renewal; d.seen.Node.Ready() && !d.unhealthy() && r > 0 {
		return min(r, Resync)
	}
	return Resync
}

// beingDeleted: something is about to delete the node, and nothing is to be done to its machine
// meanwhile. A person's word that the machine is off touches no machine.
func (d *decision) beingDeleted() bool { return d.seen.Node.Deleting != "" && !d.confirmAsked() }

func (d *decision) machineWithoutNode() bool { return d.dec.Trigger.OnlyMachine() }

// missing: the Node object for whose absence this fence was opened is not there.
func (d *decision) missing() bool { return d.dec.Trigger.Missing() && !d.seen.Node.Exists }

// noNode: that is evidence. Such a fence has no UID to be bound to.
func (d *decision) noNode() bool {
	return d.missing() && !d.machineWithoutNode() && d.dec.NodeUID == ""
}

// isolatedOnly: the fence has gone as far as a policy with action Isolate goes.
func (d *decision) isolatedOnly() bool {
	return d.st.Phase == api.Fenced && d.st.Release.DoneAt == nil
}

// Served: power was cut or work released. From there the node's health alone decides.
func Served(st *api.NodeFenceStatus) bool {
	return st.CutOrReleased || st.Begun()
}

func freedByDump(st *api.NodeFenceStatus) bool {
	return st.Phase == api.Releasing && st.Proof != nil && st.Proof.Type == api.ProofKdump
}

// sooner is the first of two times, of which zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// justRead tells whether this invocation has read the device.
func (d *decision) justRead() bool {
	return d.seen.Call != nil && d.seen.Call.Call == api.CallRead && d.st.Claim == nil && d.st.Power.LastRead != nil &&
		d.st.Power.LastRead.At.Time.Equal(d.stamp(d.seen.Call.At).Time)
}

// asker is who asked, why, and by which event.
func asker(r api.AskedBy) string {
	who := "source " + r.Source
	if r.User != "" {
		who = r.User
	}
	if r.Reason != "" {
		who += " (" + r.Reason + ")"
	}
	return "asked for by " + who + ", event " + r.ID
}

// Early is the policy's earlyProbe, where there is a machine to read. Where
// there are activity checks, nothing is hurried.
func Early(p api.ResolvedPolicy) *api.ProbeSetting {
	power := p.Settings.Action == api.ActionReboot || p.Settings.Action == api.ActionOff || p.Settings.Action == ""
	if p.Settings.Mode == api.ModeDryRun || !power || p.Settings.ActivityChecks != nil {
		return nil
	}
	return p.Settings.EarlyProbe
}

// OnlyLease: nothing but its Lease can speak for this fence now. Once power was
// cut or work released, it runs to its end (S25).
func OnlyLease(dec *api.Decision, st *api.NodeFenceStatus, now time.Time) bool {
	if Early(dec.ResolvedPolicy) == nil || requested(dec, st, now) || st.Begun() {
		return false
	}
	due := conditionsDue(dec, st)
	return due.IsZero() || due.After(now)
}

func (d *decision) earlyOnly() bool { return OnlyLease(d.dec, &d.st, d.now) }

// conditionsDue is when the first of the conditions that hold has held for as
// long as the policy asks; zero if none holds.
func conditionsDue(dec *api.Decision, st *api.NodeFenceStatus) (due time.Time) {
	for _, e := range st.Evidence {
		if e.Type != api.TriggerNodeCondition {
			due = sooner(due, e.Since.Time) // its time was over when the fence was opened, or it has none
		}
		for _, want := range dec.Settings.UnhealthyConditions {
			if e.Type == api.TriggerNodeCondition && want.Type == e.Condition && want.Status == e.Status {
				due = sooner(due, e.Since.Add(want.Duration.Duration))
			}
		}
	}
	return due
}

// Approved: a person has approved, and that yes is not used up.
func Approved(r api.Requests, st *api.NodeFenceStatus) bool {
	return r.Approve != nil && !st.Answered(api.AskedApprove, r.Approve.At)
}

// spell is evidence with since when it is seen.
func (d *decision) spell(e api.Evidence) api.Evidence {
	e.Since = d.time()
	for _, was := range d.st.Evidence {
		if was.Same(e) {
			e.Since = was.Since
		}
	}
	return e
}

// mustNotSwitch: for this fence no machine may be switched off now.
func (d *decision) mustNotSwitch() bool { return d.earlyOnly() || d.onlyReads() }

// onlyReads: nothing but a machine that reads off can speak for this fence now.
func (d *decision) onlyReads() bool {
	return d.dec.Settings.Action == api.ActionWaitForOff && d.readable() && !d.confirmAsked() && !d.begun()
}

// readable: there is a device that tells whether the machine is off.
func (d *decision) readable() bool {
	return d.dec.Power(0) != nil && !d.dec.Trigger.Missing()
}
