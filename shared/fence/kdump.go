package fence

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// A machine that crashed may be writing its memory away, and says so by messages.
// Cutting its power would destroy the dump, so its fence waits, in Pending and
// without a slot, until the messages have stopped or their time is over. They can
// be forged: all that they do here is bounded, and none of them hastens anything. For
// what they may do besides, where a policy opts in, see kdumpproof.go.

// Kdump is the rule by which this fence waits for a dump; nil if it does not.
func Kdump(f *api.NodeFence) *api.KdumpSettings { return kdumpRule(&f.Status.Decision) }

func kdumpRule(dec *api.Decision) *api.KdumpSettings {
	switch {
	case !dec.Settings.Action.Device():
		return nil // no power is cut
	case dec.Settings.Kdump != nil:
		return dec.Settings.Kdump
	case dec.Power(0) != nil && dec.Power(0).Kdump:
		return policy.KdumpSettings(&api.KdumpRule{}) // the defaults
	}
	return nil
}

// dumping: messages of this very node still arrive. A Lease that was seen to move
// since the first of them says that they are not true.
func (d *decision) dumping() bool {
	r, last := kdumpRule(d.dec), d.lastMessage()
	if r == nil || last.IsZero() {
		return false
	}
	if k := d.st.Kdump; k != nil && d.leaseMovedSince(k.Since) {
		return false
	}
	return d.now.Sub(last) < r.QuietDuration.Duration
}

// lastMessage is when this node's last message came; zero if none did. Where
// nothing is seen now, because the look was refused or what was written down is
// gone, that is no end of a dump (S2): what the record has of it stands.
func (d *decision) lastMessage() (at time.Time) {
	switch m, k := d.seen.Dump, d.st.Kdump; {
	case m == nil && k != nil:
		return k.LastSeen.Time
	case m == nil || m.NodeUID != d.dec.NodeUID || m.Last.After(d.now.Add(Settle)):
		return at
	default:
		return m.Last
	}
}

// noteDump keeps what is heard, as long as there is a dump to be destroyed.
func (d *decision) noteDump() {
	if !d.st.Phase.LeadsToRelease() {
		return
	}
	if d.st.Power.SwitchedByUs || d.seen.Dump == nil || !d.dumping() {
		return
	}
	m := d.seen.Dump
	k := api.KdumpRecord{Since: d.time(), BootID: m.BootID}
	if d.st.Kdump != nil {
		k = *d.st.Kdump
	}
	k.FirstSeen, k.LastSeen, k.Source, k.Count = *d.stamp(m.First), *d.stamp(m.Last), m.Source, m.Count
	d.st.Kdump = &k
}

// dumpHolds says why no power is cut now, and until when that stands unless more
// is heard; it is empty if nothing holds.
func (d *decision) dumpHolds() (why string, until time.Time) {
	r, k := kdumpRule(d.dec), d.st.Kdump
	if r == nil || d.st.Power.SwitchedByUs || d.confirmAsked() {
		return "", until
	}
	if k == nil {
		if d.st.OpenedAt == nil {
			return "", until
		}
		if until = d.st.OpenedAt.Add(r.FirstMessageTimeout.Duration); !until.After(d.now) {
			return "", until
		}
		return "the machine may be about to dump its memory: a first kdump message is waited for until " + until.UTC().Format(time.RFC3339), until
	}
	over := k.Since.Add(r.Timeout.Duration)
	if !d.dumping() || !over.After(d.now) {
		return "", until
	}
	why = fmt.Sprintf("the machine dumps its memory (kdump messages from %s): its power is not cut before there was none for %s, or at %s",
		k.Source, r.QuietDuration.Duration, over.UTC().Format(time.RFC3339))
	if d.seen.Dump == nil {
		why += "; whether more come can't be seen now"
	}
	return why, sooner(over, d.lastMessage().Add(r.QuietDuration.Duration))
}

// dumpOver is why a dump is not waited for any longer, in words.
func (d *decision) dumpOver() string {
	r, k := kdumpRule(d.dec), d.st.Kdump
	switch {
	case r == nil || k == nil:
		return "no kdump message has come: going on"
	case d.dumping():
		return "the dump is still under way after " + r.Timeout.Duration.String() + ": going on"
	case d.leaseMovedSince(k.Since):
		return "kdump messages come, and the node's Lease moves: not believed"
	}
	if d.seen.Dump == nil {
		return fmt.Sprintf("no kdump message was seen for %s, and whether any came can't be seen now: going on", r.QuietDuration.Duration)
	}
	return fmt.Sprintf("no kdump message for %s: the dump has ended", r.QuietDuration.Duration)
}

// spareDump gives the slot back, and goes back to waiting, if a dump has begun
// since the gate's yes.
func (d *decision) spareDump() outcome {
	why, until := d.dumpHolds()
	if why == "" {
		return goOn
	}
	if !d.begun() {
		d.giveBack()
		d.enter(api.Pending, api.KdumpUnderWay, why)
	} else {
		d.stay(api.KdumpUnderWay, why, 0)
	}
	d.waitUntil(until)
	return settled
}
