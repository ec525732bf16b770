package facts

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A report is a Kubernetes Event. Every account with the right to create Events in some namespace can
// write reports. So reports ask a person, and count for nothing before the person's approval (S18, S20).

// ReportsWait is how long reports wait for a person under a policy without an approvalTimeout.
const ReportsWait = time.Hour

// WithoutReports returns the decision that rules may rest on: without those askers that are reports,
// unless a person has approved a fence that opened by reports. A fence that opened for something else
// was approved for that reason, and its reports never count.
func (d *Facts) WithoutReports() *api.Decision {
	all := d.Decision.AskedBy
	approved := d.Decision.Trigger.Type == api.TriggerProblem && Approved(d.Requests, d.Record)
	if approved || !slices.ContainsFunc(all, isReport) {
		return d.Decision
	}
	dec := *d.Decision // what was decided is shared
	dec.AskedBy = slices.DeleteFunc(slices.Clone(all), isReport)
	return &dec
}

func isReport(a api.AskedBy) bool { return a.OfProblem() }

// asksByItself reports whether an event that is no report asks, and nothing was done yet when it came.
func asksByItself(a api.AskedBy) bool { return !a.OfProblem() && !a.Served }

// askedAt returns the time from which the age of a request counts: when the request came, or, for a report that came
// before a person's approval, when the approval was answered. A report that comes again keeps an approved fence from
// growing old, and a drain that was given up from ending (NodeFence.ReportedAgain).
func askedAt(a *api.AskedBy, st *api.NodeFenceStatus) time.Time {
	at := a.JoinedAt.Time
	if approved := st.Answer(api.AskedApprove); a.OfProblem() && approved != nil && approved.Result == api.Accepted && approved.AnsweredAt.After(at) {
		return approved.AnsweredAt.Time
	}
	return at
}

// newestRequest returns when the last request came that is carried out.
func newestRequest(dec *api.Decision, st *api.NodeFenceStatus) (last time.Time) {
	for i := range dec.AskedBy {
		if at := askedAt(&dec.AskedBy[i], st); at.After(last) {
			last = at
		}
	}
	return last
}

// AsksPerson reports whether nothing but reports speaks for this fence, and no person has approved it:
// no other request, no condition that has held for its time, and no confirmation.
func (d *Facts) AsksPerson() bool {
	if d.reportedAt().IsZero() || Approved(d.Requests, d.Record) || d.Record.CutOrReleased || d.AskedFor() || d.ConfirmAsked() {
		return false
	}
	due := d.DueAt()
	return due.IsZero() || due.After(d.Now)
}

// reportedAt returns when the last report asked; zero for a fence that opened for something else.
func (d *Facts) reportedAt() (at time.Time) {
	if d.Record.Decision.Trigger.Type != api.TriggerProblem {
		return at
	}
	for _, a := range d.Record.Decision.AskedBy {
		if isReport(a) && !a.Served && a.JoinedAt.After(at) {
			at = a.JoinedAt.Time
		}
	}
	return at
}

// ReportsUntil returns until when reports wait for a person. A report of a time that is still to come is of
// unknown age, and waits no more.
func (d *Facts) ReportsUntil() time.Time {
	at := d.reportedAt()
	if at.Sub(d.Now) > DecisionValidity {
		return d.Now
	}
	return at.Add(ReportsTimeout(d.Decision.Settings))
}

// ReportsTimeout returns how long reports wait for a person.
func ReportsTimeout(s api.Settings) time.Duration {
	if s.Mode == api.ModeRequireApproval && s.ApprovalTimeout.Duration > 0 {
		return s.ApprovalTimeout.Duration
	}
	return ReportsWait
}
