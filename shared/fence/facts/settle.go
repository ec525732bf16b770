package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// How far apart the two reads are that prove a machine off (S5).

// longestUnseen bounds the lead after an Off that is not ours: a third of DecisionValidity.
const longestUnseen = DecisionValidity / 3

// SettleTime is the time between the two reads: where the Lease was fresh when the
// power went, a whole renewal and a margin, in which it must not move; and the device's lead,
// whoever switched the machine off: when that was, nobody of us saw (S5). Where it was not we, the
// gate's yes has to last until the second read, so that a long lead is waited for in part.
func (d *Facts) SettleTime() time.Duration { return d.SettleOf(d.Binding()) }

// SettleOf is that time for one of the machine's devices.
func (d *Facts) SettleOf(b *api.Binding) time.Duration {
	settle := Settle
	if d.Record.Release.StartedAt == nil { // from there it was proven off once
		settle = ReadsApart(b, d.Record.Power.SwitchedByUs)
	}
	if d.Record.Power.LeaseFresh {
		settle = max(settle, d.Seen.Lease.Renewal+d.Seen.Lease.Renewal/5)
	}
	return settle
}

// ReadsApart is the least time between the two reads by which a device proves a machine off, where the
// node's Lease stands still. byUs says whether nodefence switched it off.
func ReadsApart(b *api.Binding, byUs bool) time.Duration {
	lead := Lead(b)
	if !byUs {
		lead = min(lead, longestUnseen)
	}
	return max(Settle, lead)
}

// Lead is how long the device may read off before the machine is off. It is counted from
// the first read of off: when it began to say so is known to nobody. A binding
// without a lead has DefaultLead.
func Lead(b *api.Binding) time.Duration {
	if b == nil || b.Lead == nil {
		return DefaultLead
	}
	return b.Lead.Duration
}
