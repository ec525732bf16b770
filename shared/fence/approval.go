package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// approved: a person approved this pass. What was approved is one cut, and not each that
// a restart of the flow may come to.
func (d *decision) approved() bool { return Approved(d.requests, &d.st) }

func Approved(r api.Requests, st *api.NodeFenceStatus) bool {
	return r.Approve != nil && !st.Answered(api.AskedApprove, r.Approve.At)
}

// awaitApproval holds for a person, without a slot, and gives up when the time
// for it is over. The person's word stands in the spec, so that it counts for
// this fence and not for the next.
func (d *decision) awaitApproval(about string) outcome {
	if d.st.ApprovalSince == nil {
		d.st.ApprovalSince = d.at(0)
	}
	until := d.st.ApprovalSince.Add(d.dec.Settings.ApprovalTimeout.Duration)
	if !until.After(d.now) {
		d.st.ApprovalSince = nil
		return d.fail(api.NotApproved, "nobody approved within "+d.dec.Settings.ApprovalTimeout.Duration.String()+" (spec.requests.approve); a retry asks again")
	}
	d.stay(api.WaitingForApproval, about+"a person must approve (spec.requests.approve), until "+until.UTC().Format(time.RFC3339), 0)
	d.wakeAt(until)
	if until.Sub(d.now) > Resync {
		d.lookAfter(Resync)
	}
	return settled
}
