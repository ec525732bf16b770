package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// call claims the device for one call and asks for it (S7, S8).
func (d *decision) call(c api.Call) outcome {
	limit, u := callLimit(d.dec), d.st.Power.EffectUntil
	d.st.Claim = &api.Claim{Holder: d.seen.Me, Call: c, At: d.time(), NotAfter: *d.at(limit), NoEarlierEffect: u == nil || !d.now.Before(u.Time)}
	if b := d.binding(); b != nil {
		d.st.Claim.Device = b.Name
	}
	if c != api.CallRead {
		d.st.Power.EffectUntil = d.at(limit + d.effectDelay())
	}
	d.lookAt(d.takeover(d.st.Claim))
	return doing(Action(c))
}

// takeover is from when a claim no longer counts: its call can't be in flight
// any more, by whosever clock (S7), and what it did has taken effect (S8).
func (d *decision) takeover(c *api.Claim) time.Time {
	over := c.NotAfter.Add(clockSlack)
	if c.Call == api.CallRead {
		return over
	}
	over = over.Add(d.effectDelay())
	if u := d.effectUntil(c.Device); u != nil && u.After(over) {
		return u.Time // its device is bound no more
	}
	return over
}

// effectUntil is until when a call to that device may still take effect.
func (d *decision) effectUntil(device string) *api.Time {
	if r := d.recordOf(device); r != nil {
		return r.EffectUntil
	}
	return d.st.Power.EffectUntil
}

// callElsewhere: another invocation's device call may be in flight (S7).
func (d *decision) callElsewhere() bool {
	c := d.st.Claim
	return c != nil && c.Holder != d.seen.Me && d.now.Before(d.takeover(c))
}

// lostCall takes over a claim whose holder never reported. It counts as a
// failed try, so that a call that kills its process each time comes to an end.
func (d *decision) lostCall() {
	c := d.st.Claim
	if c == nil || d.now.Before(d.takeover(c)) {
		return
	}
	d.st.Claim = nil
	switch b := d.dec.Device(c.Device); {
	case b == nil:
		return // what there is now was not told anything
	case b.Role != api.RolePower:
		d.lostIsolationCall(c)
		return
	}
	d.lost = true
	d.st.Power.LastRead = nil
	switch c.Call {
	case api.CallOff:
		d.st.Power.OffAt = nil // a read of on from here means that it was never sent, or did nothing
	case api.CallOn:
		d.st.Power.OnAt = nil
	}
	d.st.Retries++
	say := d.tell
	if d.st.Phase == api.Recovering {
		say = d.aside // why it is there stands: it may go back to the gate with that
	}
	say(api.CallLost, "nobody reported the end of a "+string(c.Call)+"; reading the device first")
}

// calledAlready: this invocation has made its one device call; the next one goes on (S7).
func (d *decision) calledAlready() outcome {
	if d.seen.Call == nil {
		return goOn
	}
	d.lookAfter(0)
	return settled
}

// tooSoon: the next call is not due yet.
func (d *decision) tooSoon() outcome {
	if until, locked := d.lockout(); locked {
		if d.wakeAt(until); d.st.Awaited != nil {
			d.waitUntil(until)
		}
		return settled
	}
	nb := d.st.Power.NotBefore
	if nb == nil || !d.now.Before(nb.Time) {
		return goOn
	}
	if d.st.Awaited != nil {
		d.waitUntil(nb.Time) // a person, or the node's health, may end it sooner
		return settled
	}
	d.wakeAt(nb.Time)
	return settled
}

// wait spaces the next call.
func (d *decision) wait(after time.Duration) {
	d.st.Power.NotBefore = d.at(after)
	d.lookAfter(after)
}

func (d *decision) freshlyRead(state api.PowerState) bool {
	return d.reads(d.st.Power.LastRead, state)
}

// reads: this read says so, and an Off or On may follow it.
func (d *decision) reads(r *api.Read, state api.PowerState) bool {
	return r != nil && r.State == state && d.within(&r.At, readValidity(d.dec))
}

// readValidity: an Off or On follows a read no older (S9). The read itself may take
// as long as a call, and the event that goes on with it may be lost once (S19): with
// less, a slow device would be read for ever and never switched.
func readValidity(dec *api.Decision) time.Duration { return callLimit(dec) + Resync + Handover }

// callLimit is the longest that one device call may take.
func callLimit(dec *api.Decision) time.Duration {
	if limit := dec.DeviceCallTimeout.Duration; limit > 0 {
		return limit
	}
	return 20 * time.Second
}

func (d *decision) bound() string {
	b := d.binding()
	if b == nil {
		return "none"
	}
	return b.Identity
}

// machine is the one that answered, and whose it is where that is known.
func (c *CallResult) machine() string {
	if c.Whose != "" {
		return c.Identity + " (node " + c.Whose + ")"
	}
	return c.Identity
}

// noteJobs records in which Jobs an agent ran for a call.
func (d *decision) noteJobs(c *CallResult) {
	d.st.Jobs = append(d.st.Jobs, c.Jobs...)
	if n := len(d.st.Jobs) - maxJobs; n > 0 {
		d.st.Jobs = d.st.Jobs[n:]
	}
}

// maxJobs is how many of a fence's Jobs are kept in its record.
const maxJobs = 16
