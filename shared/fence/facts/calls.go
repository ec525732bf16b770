package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Takeover is from when a claim no longer counts: its call can't be in flight
// any more, by whichever clock (S7), and what it did has taken effect (S8).
func (d *Facts) Takeover(c *api.Claim) time.Time {
	over := c.NotAfter.Add(observed.ClockSlack)
	if c.Call == api.CallRead {
		return over
	}
	over = over.Add(d.EffectDelay())
	if u := d.EffectUntil(c.Device); u != nil && u.After(over) {
		return u.Time // its device is bound no more
	}
	return over
}

// EffectUntil is until when a call to that device may still take effect.
func (d *Facts) EffectUntil(device string) *api.Time {
	if r := d.RecordOf(device); r != nil {
		return r.EffectUntil
	}
	return d.Record.Power.EffectUntil
}

// CallElsewhere: another invocation's device call may be in flight (S7).
func (d *Facts) CallElsewhere() bool {
	c := d.Record.Claim
	return c != nil && c.Holder != d.Seen.Me && d.Now.Before(d.Takeover(c))
}

// FreshlyRead: the last read of the machine says so, and is not too old to be followed by an
// Off or On.
func (d *Facts) FreshlyRead(state api.PowerState) bool {
	return d.ReadLately(d.Record.Power.LastRead, state)
}

// ReadLately: this read says so, and an Off or On may follow it.
func (d *Facts) ReadLately(r *api.Read, state api.PowerState) bool {
	return r != nil && r.State == state && d.Within(&r.At, ReadValidity(d.Decision))
}

// ReadValidity: an Off or On follows a read no older (S9). The read itself may take
// as long as a call, and the event that goes on with it may be lost once (S19): with
// less, a slow device would be read for ever and never switched.
func ReadValidity(dec *api.Decision) time.Duration { return dec.CallLimit() + Resync + Handover }

// AdmissionValidity is how long the gate's admission of this fence is valid (S17). The admission outlasts a read
// that takes as long as a call may: with less, a slow device would be read again and again, and
// never switched.
func AdmissionValidity(dec *api.Decision) time.Duration {
	return DecisionValidity + api.LongerCalls(dec.CallLimit())
}

// SlotCall is the longest that a call of this fence may take under the slot that the ledger has for
// it. Others count the slot by the calls for which it was reserved. Those are the usual ones where
// the ledger's schema dropped what they are, and where the ledger has no slot for this fence.
func (d *Facts) SlotCall() time.Duration {
	if d.Seen.Reserved == nil {
		return min(d.Decision.CallLimit(), api.DeviceCall)
	}
	return min(d.Decision.CallLimit(), max(d.Seen.ReservedCall, api.DeviceCall))
}

// ReservationValidity is how old the admission of this fence may be for an action to begin by it (S17): as
// AdmissionValidity, and no longer than others count the slot behind it (S14).
func (d *Facts) ReservationValidity() time.Duration {
	return DecisionValidity + api.LongerCalls(d.SlotCall())
}

// Bound is the identity of the machine that is bound for power, or none if no device is.
func (d *Facts) Bound() string {
	b := d.Binding()
	if b == nil {
		return "none"
	}
	return b.Identity
}

// AnswersForAnother says which machine the device has answered for, and which one it is bound to.
func (d *Facts) AnswersForAnother() string {
	if b := d.Binding(); b != nil && b.IdentityFault != "" {
		return "the device answers for machine " + d.Seen.Call.Machine() + ", and " + b.NoIdentity("NODE")
	}
	return "the device answers for machine " + d.Seen.Call.Machine() + ", bound is " + d.Bound()
}
