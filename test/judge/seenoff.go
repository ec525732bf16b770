package judge

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// judgeSeenOff: the machine was read off twice, some time apart; in between nothing shows the machine on.
func (t *timeline) judgeSeenOff(node string, m made) {
	if len(m.Reads) != 2 || m.Reads[0].State != api.PoweredOff || m.Reads[1].State != api.PoweredOff {
		t.breachOf(m, proofFirst, node, fmt.Sprintf("the proof rests on %d reads, and two of off are needed", len(m.Reads)))
		return
	}
	b := m.object.Status.Decision.Device(m.Device)
	if b == nil {
		t.leaveOut("the reads of %s: its record names device %q, and has none of that name", node, m.Device)
		return
	}
	apart, least := m.Reads[1].At.Sub(m.Reads[0].At.Time), leastApart(m.object, b)
	if apart < least {
		t.breachOf(m, timeToBe, node, fmt.Sprintf("the two reads are %s apart, and %s are needed", apart, least))
	}
	first, second := t.readAt(node, m, b, 0), t.readAt(node, m, b, 1)
	from, to := m.Reads[0].At.Time, m.Reads[1].At.Time
	if len(first) > 0 && len(second) > 0 {
		from, to = first[0].Time, second[0].Time
	}
	t.judgeBetween(node, m, b, interval{from, to})
}

// leastApart is the least time between the two reads. Once work was released the machine was proven off
// before, and the device's lead is over.
func leastApart(f *api.NodeFence, b *api.Binding) time.Duration {
	if f.Status.Release.StartedAt != nil {
		return settle
	}
	lead := usualLead
	if b.Lead != nil {
		lead = b.Lead.Duration
	}
	if !f.Status.Power.SwitchedByUs {
		lead = min(lead, unseenLead)
	}
	return max(settle, lead)
}

// readAt finds the answers of off on which a read of a proof rests, from each member of the device.
func (t *timeline) readAt(node string, m made, b *api.Binding, i int) (found []*Command) {
	r := m.Reads[i]
	within := interval{r.At.Add(-clockSlack), r.At.Add(callLimit(m.object) + clockSlack + commandTravels)}
	for _, address := range addressesOf(b) {
		if !t.hasJournal(address) {
			t.leaveOut("the reads of %s by driver %s: the device has no journal", node, b.Driver)
			continue
		}
		off := slices.IndexFunc(t.told[node], func(c *Command) bool {
			return c.Address == address && c.Says == "off" && within.has(c.Time)
		})
		if off < 0 {
			t.breachOf(m, proofFirst, node, fmt.Sprintf("the proof names a read of off at %s, and the device at %s said no such thing", r.At.UTC().Format("15:04:05.000"), address), t.saidNear(node, within)...)
			continue
		}
		found = append(found, t.told[node][off])
	}
	return found
}

// hasJournal reports whether a journal has a device.
func (t *timeline) hasJournal(address string) bool {
	return slices.ContainsFunc(t.Commands, func(c Command) bool { return c.Address == address })
}

// saidNear are the reads of a machine's devices in a time.
func (t *timeline) saidNear(node string, within interval) (all []Cited) {
	for _, c := range t.told[node] {
		if c.Command == "status" && within.has(c.Time) {
			all = append(all, c.cite())
		}
	}
	return all
}

// judgeBetween: between the two reads the device neither says on nor is told on, and no Lease is renewed.
func (t *timeline) judgeBetween(node string, m made, b *api.Binding, between interval) {
	for _, c := range t.told[node] {
		if !slices.Contains(addressesOf(b), c.Address) || !between.has(c.Time) || len(b.Members) > 0 {
			continue
		}
		if c.Says == "on" || c.Command == "on" && c.Accepted {
			t.breachOf(m, proofFirst, node, "between the two reads of off the machine is on", c.cite())
		}
	}
	for _, w := range t.renewals[node] {
		if between.has(w.Received) && between.has(w.Done) {
			t.breachOf(m, timeToBe, node, "the node's Lease is renewed between the two reads of off", w.cite("the Lease is renewed"))
			return
		}
	}
}
