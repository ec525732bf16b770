package facts

import (
	"fmt"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/policy"
)

// Kdump is the rule by which this fence waits for a dump; nil if it does not.
func Kdump(dec *api.Decision) *api.KdumpSettings {
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

// Dumping: messages of this very node still arrive. A Lease that was seen to move
// since the first of them says that they are not true.
func (d *Facts) Dumping() bool {
	r, last := Kdump(d.Decision), d.lastMessage()
	if r == nil || last.IsZero() {
		return false
	}
	if k := d.Record.Kdump; k != nil && d.LeaseMovedSince(k.Since) {
		return false
	}
	return d.Now.Sub(last) < r.QuietDuration.Duration
}

// lastMessage is when this node's last message came; zero if none did. Where
// nothing is seen now, because the look was refused or what was written down is
// gone, that is no end of a dump (S2): what the record has of it stands.
func (d *Facts) lastMessage() (at time.Time) {
	switch m, k := d.Seen.Dump, d.Record.Kdump; {
	case m == nil && k != nil:
		return k.LastSeen.Time
	case m == nil || m.NodeUID != d.Decision.NodeUID || m.Last.After(d.Now.Add(Settle)):
		return at
	default:
		return m.Last
	}
}

// DumpHolds says why no power is cut now, and until when that stands unless more
// is heard; it is empty if nothing holds.
func (d *Facts) DumpHolds() (why string, until time.Time) {
	r, k := Kdump(d.Decision), d.Record.Kdump
	if r == nil || d.Record.Power.SwitchedByUs || d.ConfirmAsked() {
		return "", until
	}
	if k == nil {
		if d.Record.OpenedAt == nil {
			return "", until
		}
		if until = d.Record.OpenedAt.Add(r.FirstMessageTimeout.Duration); !until.After(d.Now) {
			return "", until
		}
		return "the machine may be about to dump its memory: a first kdump message is waited for until " + until.UTC().Format(time.RFC3339), until
	}
	over := k.Since.Add(r.Timeout.Duration)
	if !d.Dumping() || !over.After(d.Now) {
		return "", until
	}
	why = fmt.Sprintf("the machine dumps its memory (kdump messages from %s): its power is not cut before there was none for %s, or at %s",
		k.Source, r.QuietDuration.Duration, over.UTC().Format(time.RFC3339))
	if d.Seen.Dump == nil {
		why += "; whether more come can't be seen now"
	}
	return why, Sooner(over, d.lastMessage().Add(r.QuietDuration.Duration))
}

// DumpOver is why a dump is not waited for any longer, in words.
func (d *Facts) DumpOver() string {
	r, k := Kdump(d.Decision), d.Record.Kdump
	switch {
	case r == nil || k == nil:
		return "no kdump message has come: going on"
	case d.Dumping():
		return "the dump is still under way after " + r.Timeout.Duration.String() + ": going on"
	case d.LeaseMovedSince(k.Since):
		return "kdump messages come, and the node's Lease moves: not believed"
	}
	if d.Seen.Dump == nil {
		return fmt.Sprintf("no kdump message was seen for %s, and whether any came can't be seen now: going on", r.QuietDuration.Duration)
	}
	return fmt.Sprintf("no kdump message for %s: the dump has ended", r.QuietDuration.Duration)
}

// ByDump: this fence is releasing pods for a dump.
func ByDump(f *api.NodeFence) bool {
	return f.CurrentPhase() == api.Releasing && FreedByDump(&f.Status)
}
