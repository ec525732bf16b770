package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// hear keeps what people ask of this very fence, and refuses what is about another one: a
// word from a kept file, or one that was written late, must not count for a fence that its
// author never saw (S3, S20). The admission policy has refused it already, where there is
// one.
func (d *decision) hear(all api.Requests) {
	d.requests = all.About(d.st.FenceNumber)
	other := func(name api.RequestName, r *api.Request, is bool) {
		if r != nil && !is {
			d.answer(name, r, api.Refused, fmt.Sprintf("it is about fence %d of this node, and this is fence %d", r.FenceNumber, d.st.FenceNumber))
		}
	}
	other(api.AskedApprove, all.Approve, d.requests.Approve != nil)
	other(api.AskedRetry, all.Retry, d.requests.Retry != nil)
	other(api.AskedUncordon, all.Uncordon, d.requests.Uncordon != nil)
	if c := all.ConfirmOff; c != nil {
		other(api.AskedConfirmOff, &c.Request, d.requests.ConfirmOff != nil)
	}
	if a := all.Abort; a != nil && a.FenceNumber != nil {
		other(api.AskedAbort, &api.Request{FenceNumber: *a.FenceNumber, By: a.By, At: a.At}, d.requests.Abort != nil)
	}
}

// answer writes what became of a request, unless that stands there already.
func (d *decision) answer(name api.RequestName, r *api.Request, result api.AnswerResult, msg string) {
	is := api.RequestAnswer{Request: name, FenceNumber: r.FenceNumber, By: r.By, At: r.At, Result: result, AnsweredAt: d.time(), Message: msg}
	switch was := d.st.Answer(name); {
	case was == nil:
		d.st.Answers = append(d.st.Answers, is)
	case !was.At.Equal(&r.At) || was.FenceNumber != r.FenceNumber || was.Result != result || was.Message != msg:
		*was = is
	}
}

// noteWords answers what people ask for where nothing waits for it: kept, it would be
// carried out at some later time, on another state than the one they spoke of. A word
// that a machine is off is not about the machine that was switched on since (S3).
func (d *decision) noteWords() {
	st := &d.st
	switch c := d.requests.ConfirmOff; st.Phase {
	case api.Pending, api.Isolating, api.Fencing, api.Failed:
		if d.confirmAsked() {
			d.answer(api.AskedConfirmOff, &c.Request, api.Accepted, "it is weighed against the node's Lease when the fence comes to it, within the limits")
		}
	default:
		if d.confirmAsked() && !d.isolatedOnly() && !byDump(st) {
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
	if r := d.requests.Approve; r != nil && d.approved() {
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

// lastWords says of what was accepted that it is carried out, as the record ends.
func (d *decision) lastWords() {
	for i := range d.st.Answers {
		if a := &d.st.Answers[i]; a.Result == api.Accepted {
			a.Result, a.AnsweredAt, a.Message = api.Done, d.time(), "the fence is ended"
		}
	}
}
