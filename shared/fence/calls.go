package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// takeover is from when a claim no longer counts: its call can't be in flight
// any more, by whichever clock (S7), and what it did has taken effect (S8).
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

// calledAlready: this invocation has made its one device call; the next one goes on (S7).
func (d *decision) calledAlready() outcome {
	if d.seen.Call == nil {
		return goOn
	}
	d.lookAfter(0)
	return settled
}

func (d *decision) freshlyRead(state api.PowerState) bool {
	return d.readLately(d.st.Power.LastRead, state)
}

// readLately: this read says so, and an Off or On may follow it.
func (d *decision) readLately(r *api.Read, state api.PowerState) bool {
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

// answersForAnother says which machine the device has answered for, and which one it is bound to.
func (d *decision) answersForAnother() string {
	return "the device answers for machine " + d.seen.Call.machine() + ", bound is " + d.bound()
}

// machine is the one that answered, and whose it is where that is known.
func (c *CallResult) machine() string {
	if c.Whose != "" {
		return c.Identity + " (node " + c.Whose + ")"
	}
	return c.Identity
}
