package facts

import (
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Questions about the reads that come before a person's word counts. None of them changes anything.

// WordRead is what was read of this device for the word that waits; nil if nothing was.
func (d *Facts) WordRead(b *api.Binding) *api.ConfirmRead {
	all := d.Record.ConfirmReads
	if all == nil {
		return nil
	}
	for i := range all.Devices {
		if r := &all.Devices[i]; r.Device == b.Words() {
			return r
		}
	}
	return nil
}

// WordReadsHold is how old the first of two reads may be. Each of the other devices may be read
// twice in between, and a call may take its whole time.
func (d *Facts) WordReadsHold() time.Duration {
	calls := time.Duration(2 * len(d.Decision.PowerLevels()))
	return AdmissionValidity(d.Decision) + longestUnseen + calls*d.Decision.CallLimit()
}

// ReadOnAgainstWord is the power device that lately read on, in words, and the read; nil if none did.
func (d *Facts) ReadOnAgainstWord() (string, *api.Read) {
	if b := d.Binding(); b != nil && d.FreshlyRead(api.PoweredOn) {
		return b.Words(), d.Record.Power.LastRead
	}
	levels := d.Decision.PowerLevels()
	for i := range levels {
		if r := d.WordRead(&levels[i]); r != nil && d.ReadLately(r.Last, api.PoweredOn) {
			return r.Device, r.Last
		}
	}
	return "", nil
}

// NextWordRead is the power device to be read next before the word counts, and when; nil if each
// was read twice, a settle apart.
func (d *Facts) NextWordRead() (next *api.Binding, due time.Time) {
	levels := d.Decision.PowerLevels()
	for i := range levels {
		if at, reads := d.wordReadDue(&levels[i]); reads && (next == nil || at.Before(due)) {
			next, due = &levels[i], at
		}
	}
	return next, due
}

// wordReadDue is when this device is to be read for the word; false if the word needs no further
// read. A device that has refused the account again and again is left alone, and gives no answer.
func (d *Facts) wordReadDue(b *api.Binding) (time.Time, bool) {
	if _, locked := d.LockedOut(b); locked {
		return time.Time{}, false
	}
	r, hold := d.WordRead(b), d.WordReadsHold()
	switch {
	case r == nil || r.Last == nil || !d.Within(&r.Last.At, hold):
		return d.Now, true
	case r.First == nil:
		return r.Last.At.Add(Poll), true
	case !d.Within(&r.First.At, hold):
		return d.Now, true
	case r.Last.At.Sub(r.First.At.Time) < d.SettleOf(b):
		return r.First.At.Add(d.SettleOf(b)), true
	}
	return time.Time{}, false
}

// WordReads says what each power device was read; empty if none is bound.
func (d *Facts) WordReads() string {
	levels := d.Decision.PowerLevels()
	said := make([]string, 0, len(levels))
	for i := range levels {
		said = append(said, levels[i].Words()+" "+d.wordReadIs(&levels[i]))
	}
	return strings.Join(said, ", ")
}

func (d *Facts) wordReadIs(b *api.Binding) string {
	r := d.WordRead(b)
	if _, locked := d.LockedOut(b); locked {
		return "refuses the account"
	}
	if r == nil || r.Last == nil {
		return "is not read yet"
	}
	says := map[api.PowerState]string{api.PoweredOn: "read on", api.PoweredOff: "read off", api.PowerUnknown: "gave no answer"}[r.Last.State]
	if r.First != nil && r.First.State != r.Last.State {
		says += ", and before " + map[api.PowerState]string{api.PoweredOff: "off", api.PowerUnknown: "none"}[r.First.State]
	}
	says += " at " + r.Last.At.UTC().Format(time.RFC3339)
	if r.Error != "" {
		says += " (" + r.Error + ")"
	}
	return says
}
