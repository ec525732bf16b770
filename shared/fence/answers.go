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
