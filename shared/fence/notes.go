package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// noteWords answers what people ask for where nothing waits for it: kept, it would be
// carried out at some later time, on another state than the one they spoke of. A word
// that a machine is off is not about the machine that was switched on since (S3).
func (d *decision) noteWords() {
	st := &d.st
	switch c := d.requests.ConfirmOff; st.Phase {
	case api.Pending, api.Probing, api.Isolating, api.Fencing, api.Failed:
		if d.confirmAsked() {
			d.answer(api.AskedConfirmOff, &c.Request, api.Accepted, "it is weighed against the node's Lease when the fence comes to it, within the limits")
		}
	default:
		if d.confirmAsked() && !d.isolatedOnly() && !freedByDump(st) {
			d.answer(api.AskedConfirmOff, &c.Request, api.NotNeeded, "nothing waits for it now, and it counts for nothing later")
			d.aside(api.ConfirmedOff, c.By+" confirmed that the machine is off, which nothing waits for now: it counts for nothing later")
		}
	}
	if r := d.requests.Retry; d.retryAsked() && st.Phase != api.Failed && st.Awaited == nil && !(st.Phase == api.Fenced && st.Power.SwitchedByUs) {
		d.answer(api.AskedRetry, r, api.NotNeeded, "the fence is under way, and it counts for nothing later")
		if st.Phase == api.Pending {
			d.dropYes()
		}
		d.aside(api.RetryAsked, r.By+" asked for a retry of what is under way: it counts for nothing later")
	}
	if r := d.requests.Approve; r != nil && Approved(d.requests, &d.st) {
		d.answer(api.AskedApprove, r, api.Accepted, "it counts for this pass, within the limits")
	}
	if a := d.requests.Abort; a != nil {
		msg := "no power was cut and nothing released: what was placed is taken back"
		if Served(st) {
			msg = "no further Off is sent; what was begun is proven, released and recovered"
		}
		d.answer(api.AskedAbort, &api.Request{By: a.By, At: a.At}, api.Accepted, msg)
	}
	d.noteUncordon()
}
