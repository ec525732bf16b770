package facts

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// LeaseFresh: the Lease has not yet missed two renewals. No Lease is not fresh.
func (d *Facts) LeaseFresh() bool {
	s := d.Record.Lease.StillSince
	return d.Seen.Lease.Exists && s != nil && d.Now.Sub(s.Time) < 2*d.Seen.Lease.Renewal
}

// LeaseGone: a Lease that was seen to move lately is there no more, so that nobody can see
// whether it would still move. A kubelet that lives makes it anew.
func (d *Facts) LeaseGone() bool {
	s := d.Record.Lease.StillSince
	return !d.Seen.Lease.Exists && s != nil && d.Since(s) < 2*SlowestRenewal
}

// LeaseMovedSince: the Lease was seen to move after t, a sign of life (S3).
func (d *Facts) LeaseMovedSince(t api.Time) bool {
	s := d.Record.Lease.StillSince
	return d.Seen.Lease.Exists && s != nil && s.After(t.Time)
}

// Requested: an event asked for this fence, and it is not served yet.
func Requested(dec *api.Decision, st *api.NodeFenceStatus, now time.Time) bool {
	return dec.Asker() != nil && !st.CutOrReleased && !requestExpired(dec, st, now)
}

// AskedFor: an event asked for this fence, and it is not served yet.
func (d *Facts) AskedFor() bool { return Requested(d.Decision, d.Record, d.Now) }

// PersonAsks: a person has asked for this fence, and not only a program.
func (d *Facts) PersonAsks() bool {
	return d.AskedFor() && slices.ContainsFunc(d.Decision.AskedBy, func(a api.AskedBy) bool { return !a.Served && a.ByPerson() })
}

// requestExpired: what was asked for and held for too long is not carried out late
// (S17). Where a person approves, the time for that is the limit. One of a time that is
// still to come is of unknown age, unless two API servers' clocks may lie so far apart: an
// end is for good, and not for a difference of seconds.
// While the node is drained for it, its time does not run.
func requestExpired(dec *api.Decision, st *api.NodeFenceStatus, now time.Time) bool {
	if dec.Asker() == nil {
		return false
	}
	last := newestRequest(dec, st)
	from, to := askedWithin(dec, st, last, now)
	return last.Before(from) || last.After(to)
}

// askedWithin are the times between which a request came that is still carried out, if it came at
// joined. What was drained before that leaves it no more time.
func askedWithin(dec *api.Decision, st *api.NodeFenceStatus, joined, now time.Time) (from, to time.Time) {
	limit := api.RequestValidity + drainTookSince(st, joined, now)
	if dec.Settings.Mode == api.ModeRequireApproval {
		limit += dec.Settings.ApprovalTimeout.Duration
	}
	return now.Add(-limit), now.Add(DecisionValidity)
}

// LastAsked is when the last request came. It counts: each has passed all that the first one
// has.
func LastAsked(dec *api.Decision) (at time.Time) {
	for _, r := range dec.AskedBy {
		if r.JoinedAt.After(at) {
			at = r.JoinedAt.Time
		}
	}
	return at
}

// RequestOld: what was asked for is too old to be carried out (S17: nothing is carried out
// late).
func (d *Facts) RequestOld() bool { return requestExpired(d.Decision, d.Record, d.Now) }

// ConfirmAsked: a person's word that the machine is off waits for an answer.
func (d *Facts) ConfirmAsked() bool {
	c := d.Requests.ConfirmOff
	return c != nil && !d.MachineWithoutNode() && !d.Record.Answered(api.AskedConfirmOff, c.At)
}

// Begun: power was cut by us, or work was released: from here the flow runs to
// its end (S25).
func (d *Facts) Begun() bool { return d.Record.Begun() }

// Unhealthy: some condition of the policy holds now.
func (d *Facts) Unhealthy() bool { return slices.ContainsFunc(d.Record.Evidence, d.counts) }

// counts: this evidence speaks for the fence now. That of a Machine, which may stay
// Failed whatever becomes of the node, does so until power was cut or work released,
// and in no fence that was given up.
func (d *Facts) counts(e api.Evidence) bool {
	switch {
	case e.Type != api.TriggerMachine:
		return true
	case d.Record.CutOrReleased:
		return false
	}
	return d.Record.Phase.LeadsToRelease()
}

// RetryAsked: a person wants it tried again, and has no answer yet.
func (d *Facts) RetryAsked() bool {
	r := d.Requests.Retry
	return r != nil && !d.Record.Answered(api.AskedRetry, r.At)
}

// Healthy: Ready, none of the policy's conditions, and a Lease that was seen to
// move since this phase began. Ready alone may be yesterday's.
func (d *Facts) Healthy() bool { return d.HealthySince(d.Record.PhaseSince) }

// HealthySince: the node is Ready, no condition of the policy holds, and its Lease is fresh and
// was seen to move after t.
func (d *Facts) HealthySince(t *api.Time) bool {
	return d.Seen.Node.Exists && d.Seen.Node.Ready() && !d.Unhealthy() && d.LeaseFresh() && t != nil && d.LeaseMovedSince(*t)
}

// LifeShows is when to look for health again if no wake-up comes. Where only the Lease has
// yet to move, that is its next renewal.
func (d *Facts) LifeShows() time.Duration {
	if r := d.Seen.Lease.Renewal; d.Seen.Node.Ready() && !d.Unhealthy() && r > 0 {
		return min(r, Resync)
	}
	return Resync
}

// BeingDeleted: something is about to delete the node, and nothing is to be done to its machine
// meanwhile. A person's word that the machine is off touches no machine.
func (d *Facts) BeingDeleted() bool { return d.Seen.Node.Deleting != "" && !d.ConfirmAsked() }

// MachineWithoutNode: this fence is about a Machine that no Node has come of.
func (d *Facts) MachineWithoutNode() bool { return d.Decision.Trigger.OnlyMachine() }

// Missing: the Node object for whose absence this fence was opened is not there.
func (d *Facts) Missing() bool { return d.Decision.Trigger.Missing() && !d.Seen.Node.Exists }

// NoNode: that is evidence. Such a fence has no UID to be bound to.
func (d *Facts) NoNode() bool {
	return d.Missing() && !d.MachineWithoutNode() && d.Decision.NodeUID == ""
}

// IsolatedOnly: the fence has gone as far as a policy with action Isolate goes.
func (d *Facts) IsolatedOnly() bool {
	return d.Record.Phase == api.Fenced && d.Record.Release.DoneAt == nil
}

// Served: power was cut or work released. From there the node's health alone decides.
func Served(st *api.NodeFenceStatus) bool {
	return st.CutOrReleased || st.Begun()
}

// FreedByDump: the fence releases pods on messages of a dump.
func FreedByDump(st *api.NodeFenceStatus) bool {
	return st.Phase == api.Releasing && st.Proof != nil && st.Proof.Type == api.ProofKdump
}

// Sooner is the first of two times, of which zero is none.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// JustRead tells whether this invocation has read the device.
func (d *Facts) JustRead() bool {
	return d.Seen.Call != nil && d.Seen.Call.Call == api.CallRead && d.Record.Claim == nil && d.Record.Power.LastRead != nil &&
		d.Record.Power.LastRead.At.Time.Equal(d.Stamp(d.Seen.Call.At).Time)
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
	if Early(dec.ResolvedPolicy) == nil || Requested(dec, st, now) || st.Begun() {
		return false
	}
	due := ConditionsDue(dec, st)
	return due.IsZero() || due.After(now)
}

// EarlyOnly: nothing but the Lease speaks for this fence yet.
func (d *Facts) EarlyOnly() bool { return OnlyLease(d.Decision, d.Record, d.Now) }

// ConditionsDue is when the first of the conditions that hold has held for as
// long as the policy asks; zero if none holds.
func ConditionsDue(dec *api.Decision, st *api.NodeFenceStatus) (due time.Time) {
	for _, e := range st.Evidence {
		if e.Type != api.TriggerNodeCondition {
			due = Sooner(due, e.Since.Time) // its time was over when the fence was opened, or it has none
		}
		for _, want := range dec.Settings.UnhealthyConditions {
			if e.Type == api.TriggerNodeCondition && want.Type == e.Condition && want.Status == e.Status {
				due = Sooner(due, e.Since.Add(want.Duration.Duration))
			}
		}
	}
	return due
}

// Approved: a person has approved, and that yes is not used up.
func Approved(r api.Requests, st *api.NodeFenceStatus) bool {
	return r.Approve != nil && !st.Answered(api.AskedApprove, r.Approve.At)
}

// Spell is evidence with since when it is seen.
func (d *Facts) Spell(e api.Evidence) api.Evidence {
	now := e
	now.Since = d.Time()
	for _, was := range d.Record.Evidence {
		if was.Same(e) {
			now.Since = was.Since
		}
	}
	return now
}

// MustNotSwitch: for this fence no machine may be switched off now.
func (d *Facts) MustNotSwitch() bool { return d.EarlyOnly() || d.OnlyReads() }

// OnlyReads: nothing but a machine that reads off can speak for this fence now.
func (d *Facts) OnlyReads() bool {
	return d.Decision.Settings.Action == api.ActionWaitForOff && d.Readable() && !d.ConfirmAsked() && !d.Begun()
}

// Readable: there is a device that tells whether the machine is off.
func (d *Facts) Readable() bool {
	return d.Decision.Power(0) != nil && !d.Decision.Trigger.Missing()
}
