package fence

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// A fence under a policy in mode DryRun waits at the gate until its node has healed, and says what Enforce would do.
// The rules of Pending decide that, on a copy of the record under mode Enforce; of the copy nothing is kept but its
// answer. Where the copy asks the gate for something, the gate is asked for a dry reservation, which counts for dry
// runs alone. What would come after the gate is not played: no check is made, no device is called, no mark is placed
// (S14, S17).

// dryQuestion maps what a fence asks the gate for to what a dry run asks for.
var dryQuestion = map[Action]Action{Reserve: DryReserve, AskDrain: DryDrain, AskChecks: DryChecks}

// underEnforce returns the decision as it would be under Enforce: itself, unless the policy is in mode DryRun. Nothing
// that is done to the copy shows in the record.
func (d *decision) underEnforce() *decision {
	if d.Decision.Settings.Mode != api.ModeDryRun {
		return d
	}
	as, dec := *d, *d.Decision
	dec.Settings.Mode = api.ModeEnforce
	as.Decision, as.Record = &dec, copied(d.Record)
	as.Record.Decision.Settings.Mode = api.ModeEnforce
	r := d.dryRun()
	as.Seen.Reserved, as.Seen.MayCheck, as.Seen.MayDrain = nil, d.Seen.DryChecks, r != nil && r.Drain
	return &as
}

// dryRun returns the dry reservation that counts; nil if there is none. One that the record does not have was made a
// moment ago, and was not given back.
func (d *decision) dryRun() *observed.DryRun {
	r := d.Seen.DryRun
	if r == nil {
		return nil
	}
	at := *d.Stamp(r.At)
	is := func(t *api.Time) bool { return t != nil && t.Equal(&at) }
	said := d.Record.WouldBeginAt
	if r.Drain {
		said = d.Record.WouldDrainAt
	}
	if is(said) || observed.Fresh(r.At, d.Now, d.ReservationValidity()) && !is(d.Record.GivenBack) {
		return r
	}
	return nil
}

// rehearse says what the fence would do under Enforce, and asks the gate what that depends on. mode says which policy
// is in mode DryRun. If the process dies after the gate's yes, the next look finds the dry reservation in the ledger.
func (d *decision) rehearse(mode string) outcome {
	r, as := d.dryRun(), d.underEnforce()
	if r != nil && !r.Drain {
		return d.wouldDo("would begin", mode, r, facts.Resync)
	}
	switch o := first(as.askPerson, as.begins); {
	case dryQuestion[o.act] != "":
		return d.carryOut(dryQuestion[o.act])
	case o.act == Resolve:
		return d.carryOut(Resolve)
	case o.act == Check:
		return d.wouldDo("would be checked first", mode, nil, facts.Resync)
	}
	switch now := as.Record; now.Phase {
	case api.Draining:
		return d.wouldDo("would be drained first", mode, r, facts.Resync)
	case api.Recovering, api.Failed, api.Finished:
		return d.wouldDo("would end by "+string(now.Reason)+": "+now.Message, mode, nil, facts.Resync)
	default:
		again := facts.Resync
		if now.NextLook != nil {
			again = now.NextLook.Sub(d.Now)
		}
		return d.wouldDo("would be held by "+string(now.Reason)+": "+now.Message, mode, nil, again)
	}
}

// wouldDo says what Enforce would do, and keeps since when the ledger has that reserved.
func (d *decision) wouldDo(what, mode string, r *observed.DryRun, again time.Duration) outcome {
	d.rehearsed = true
	d.noteDryRun(r)
	return d.stay(api.DryRun, what+"; "+mode, again)
}

// noteDryRun writes the dry reservation into the record. One that the fence has no more is given back: the ledger
// drops it.
func (d *decision) noteDryRun(r *observed.DryRun) {
	begin, drain := d.Record.WouldBeginAt, d.Record.WouldDrainAt
	d.Record.WouldBeginAt, d.Record.WouldDrainAt = nil, nil
	switch {
	case r != nil && r.Drain:
		d.Record.WouldDrainAt = d.Stamp(r.At)
	case r != nil:
		d.Record.WouldBeginAt = d.Stamp(r.At)
	case begin != nil:
		d.Record.GivenBack = begin
	case drain != nil:
		d.Record.GivenBack = drain
	}
}

// endDryRun ends a dry run whose fence is held for another reason than its mode, is over, or has another mode now. A
// fence whose brakes nobody looked at, and one that asks the gate or resolves its devices, stays as it is.
func (d *decision) endDryRun(o outcome) {
	dry := d.Decision.Settings.Mode == api.ModeDryRun
	if d.rehearsed || d.Record.Phase == api.Pending && (!d.Seen.Brakes.Looked || dry && o.act != None) {
		return
	}
	d.noteDryRun(nil)
}
