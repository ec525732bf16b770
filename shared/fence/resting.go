package fence

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// fenced is a machine that stays off until somebody switches it on.
func (d *decision) fenced() outcome {
	if o := first(d.ended, d.endAsked); o.decided {
		return o
	}
	if r := d.Requests.Retry; d.RetryAsked() && d.Record.Power.SwitchedByUs {
		d.answer(api.AskedRetry, r, api.Done, "the machine is switched on again")
		return d.enter(api.PoweringOn, api.RetryAsked, r.By+" wants the machine back")
	}
	if d.IsolatedOnly() && d.ConfirmAsked() {
		return d.askedAnew(d.Requests.ConfirmOff.By + " says that the machine is off")
	}
	if d.Healthy() {
		why := "somebody switched the machine on"
		if d.Record.Release.StartedAt == nil {
			why = "the node is healthy again"
		}
		d.switchedOnByOther()
		return d.leave(api.Recovering, api.NodeHealthy, why)
	}
	return d.stay(d.Record.Reason, d.Record.Message, facts.Resync)
}

// failed is given up: a person retries, confirms or ends it, or the node heals.
func (d *decision) failed() outcome {
	// Nobody sees the machine off any more: the out-of-service taint goes before all else (S23).
	if o := first(d.ended, d.clearOutOfService, d.endBegun, d.healed); o.decided {
		return o
	}
	if r := d.Requests.Retry; d.RetryAsked() {
		d.answer(api.AskedRetry, r, api.Done, "it is tried once more")
		return d.askedAnew("retry asked by " + r.By)
	}
	switch {
	case d.MustAwait() || d.Record.Awaited != nil:
		return d.await(d.Record.Reason, d.Record.Message)
	case d.LostBinding():
		return d.enter(api.Pending, d.Record.Reason, d.Record.Message) // where it is resolved
	}
	if d.ConfirmAsked() {
		return d.askedAnew(d.Requests.ConfirmOff.By + " says that the machine is off")
	}
	return d.stay(d.Record.Reason, d.Record.Message, facts.Resync)
}
