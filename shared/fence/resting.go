package fence

import api "github.com/nodefence/nodefence/shared/api/v1alpha1"

// fenced is a machine that stays off until somebody switches it on.
func (d *decision) fenced() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if o := d.endAsked(); o.decided {
		return o
	}
	if r := d.requests.Retry; d.retryAsked() && d.st.Power.SwitchedByUs {
		d.answer(api.AskedRetry, r, api.Done, "the machine is switched on again")
		return d.enter(api.PoweringOn, api.RetryAsked, r.By+" wants the machine back")
	}
	if d.isolatedOnly() && d.confirmAsked() {
		return d.askedAnew(d.requests.ConfirmOff.By + " says that the machine is off")
	}
	if d.healthy() {
		why := "somebody switched the machine on"
		if d.st.Release.StartedAt == nil {
			why = "the node is healthy again"
		}
		d.switchedOnByOther()
		return d.leave(api.Recovering, api.NodeHealthy, why)
	}
	return d.stay(d.st.Reason, d.st.Message, Resync)
}

// failed is given up: a person retries, confirms or ends it, or the node heals.
func (d *decision) failed() outcome {
	if o := d.ended(); o.decided {
		return o
	}
	if o := d.clearOutOfService(); o.decided {
		return o // nobody sees the machine off any more (S23)
	}
	if o := first(d.endBegun, d.healed); o.decided {
		return o
	}
	if r := d.requests.Retry; d.retryAsked() {
		d.answer(api.AskedRetry, r, api.Done, "it is tried once more")
		return d.askedAnew("retry asked by " + r.By)
	}
	switch {
	case d.mustAwait() || d.st.Awaited != nil:
		return d.await(d.st.Reason, d.st.Message)
	case d.lostBinding():
		return d.enter(api.Pending, d.st.Reason, d.st.Message) // where it is resolved
	}
	if d.confirmAsked() {
		return d.askedAnew(d.requests.ConfirmOff.By + " says that the machine is off")
	}
	return d.stay(d.st.Reason, d.st.Message, Resync)
}
