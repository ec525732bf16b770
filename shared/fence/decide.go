package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Decide is the whole automaton. It returns what the record becomes, which is
// to be saved before the action is carried out, and the action.
//
// What is seen is noted first, and the rules of the phase are asked after that. The notes
// have an order, as each rests on those before it:
//
//  1. open: a record that only has a number gets its first phase
//  2. hear: what people ask of this fence; a request about another one counts for nothing.
//     noteWithdrawn: what a request says of the drain counts no more once it is withdrawn, and once
//     the fence was begun it asks for nothing more. noteWord: reads are of one word, and are
//     forgotten with it. WithoutReports: reports that no person has approved ask for nothing. hearTrust: a person's
//     statement ends the refutation of a power cut
//  3. noteLease: since when the Lease stands still, by our own looks
//  4. noteConditions: which conditions of the policy hold, and since when, by our own looks
//     noteSaid: how conditions stand while the machine is off, which say nothing of its next boot.
//     noteRefuted: whether the boot ID since a proven power cut refutes the cut
//  5. noteIsolated: since when the node has our taint, where its policy counts from there; and
//     since when one that would be drained does not live
//  6. what was begun is written down, before anything that is noted next may undo it
//  7. noteCall: what the call of this invocation gave, which ends its claim
//  8. lostCall: a claim that nobody ended is taken over. It comes after noteCall, so that our
//     own call is not taken for a lost one
//  9. noteChecks: rounds of activity checks. One may wait for the read that was just noted, or
//     was lost
//  10. noteDump: whether the machine dumps its memory, against the Lease that was noted
//  11. noteWords: requests that nothing waits for are answered, by what was noted until here
//
// After the rules noteRelease keeps what giving back access will depend on, by the action that
// they chose, and describe writes the conditions by what the record has become.
func Decide(f *api.NodeFence, seen observed.Look, now time.Time) (api.NodeFenceStatus, Action) {
	if Foreign(f.Status) {
		return f.Status, None // S21: written by a newer nodefence, left alone
	}
	if !f.Open() && f.Status.FenceNumber == 0 {
		return f.Status, None // nothing was ever decided of this node
	}
	d := &decision{Facts: facts.Facts{Decision: facts.Effective(f), UID: string(f.UID), Node: f.Spec.NodeName, Record: copied(&f.Status), Seen: seen, Now: now}}
	if d.CallElsewhere() {
		return f.Status, None // untouched: whoever holds the call must be able to save its end
	}
	d.Record.ObservedGeneration = f.Generation
	d.unscheduled()
	d.open()
	d.hear(f.Spec.Requests)
	d.hearTrust(f.Spec.Trust)
	d.noteWithdrawn(f.AskersWithdrawn())
	d.noteWord()
	d.Decision = d.WithoutReports()
	d.noteLease()
	d.noteConditions()
	d.noteSaid()
	d.noteRefuted()
	d.noteIsolated()
	d.Record.SilentSince = d.underEnforce().SilentNow()
	d.Record.CutOrReleased = d.Record.CutOrReleased || d.Begun()
	d.noteCall()
	d.lostCall()
	d.noteChecks()
	d.noteDump()
	d.noteWords()
	act := d.byPhase().act
	d.noteRelease(act)
	d.describe()
	return *d.Record, act
}

// Foreign tells whether a record was written by a nodefence that this one does
// not understand: it leads to no action, and an alert (S21).
func Foreign(st api.NodeFenceStatus) bool {
	return !st.Phase.Known() || st.MinReaderVersion > api.Schema
}

// byPhase is the table of the automaton: one row a phase.
func (d *decision) byPhase() outcome {
	switch d.Record.Phase {
	case api.Pending:
		return d.pending()
	case api.Draining:
		return d.draining()
	case api.Probing:
		return d.probing()
	case api.Isolating:
		return d.isolating()
	case api.Fencing:
		return d.fencing()
	case api.Releasing:
		return d.releasing()
	case api.PoweringOn:
		return d.poweringOn()
	case api.Restoring:
		return d.restoring()
	case api.Recovering:
		return d.recovering()
	case api.Fenced:
		return d.fenced()
	case api.Failed:
		return d.failed()
	}
	return settled // Finished
}

// decision is one call of Decide: what is known, and the rules that change the record by it.
type decision struct {
	facts.Facts
	// rehearsed: it was decided what the fence would do under Enforce.
	rehearsed bool
}

// noteLease keeps since when the Lease has not moved, as observed (S30).
func (d *decision) noteLease() {
	l := d.Seen.Lease
	if !l.Exists {
		return
	}
	if l.Renewed == d.Record.Lease.Renewed && d.Record.Lease.StillSince != nil {
		if observed.Ahead(d.Record.Lease.StillSince.Time, d.Now) {
			d.Record.Lease.StillSince = d.At(0) // the API server's clock was set back: it stands still from now
		}
		// The source may have watched for longer than we.
		if !l.StillSince.IsZero() && l.StillSince.Before(d.Record.Lease.StillSince.Time) {
			d.Record.Lease.StillSince = d.Stamp(l.StillSince)
		}
		return
	}
	d.Record.Lease = api.LeaseRecord{Renewed: l.Renewed, StillSince: d.At(0)}
	if !l.StillSince.IsZero() {
		d.Record.Lease.StillSince = d.Stamp(l.StillSince)
	}
}

// noteConditions keeps since when, by our looks, each condition of the policy
// holds. The node's own times are marks that tell one spell from the next: they
// come from other machines' clocks (S30).
func (d *decision) noteConditions() {
	var now []api.Evidence
	for _, want := range d.Decision.Settings.UnhealthyConditions {
		for _, c := range d.Seen.Node.Conditions {
			if c.Type == want.Type && c.Status == want.Status && !d.OurMark(c) {
				now = append(now, d.Spell(api.Evidence{Type: api.TriggerNodeCondition, Condition: c.Type, Status: c.Status, Mark: *d.Stamp(c.Since)}))
			}
		}
	}
	if d.NeverReady() || d.NoNode() {
		now = append(now, d.Spell(d.Decision.Trigger.Spell()))
	}
	d.Record.Evidence = append(now, d.MachineTrouble()...)
}

// saidOver are the proofs of a machine on which no monitor runs.
var saidOver = map[api.ProofKind]bool{api.ProofSeenOff: true, api.ProofConfirmed: true, api.ProofKdump: true}

// kubeletsOwn are the conditions that a kubelet writes each time that it says how its node is.
var kubeletsOwn = []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}

// noteSaid keeps how the node's conditions stand while the machine is proven off, and not on again. A condition from
// before the boot counts for nothing until a monitor writes it anew. Otherwise a condition that nobody has cleared
// yet would have the machine cut a second time, after its boot (S3, S26). The kubelet's own conditions are left
// out: it writes them together with Ready, for which recovery waits. If the process dies on the next line,
// the next look at the machine notes the same.
func (d *decision) noteSaid() {
	p, n := d.Record.Proof, d.Seen.Node
	if p == nil || !saidOver[p.Type] || !n.Exists || n.UID != d.Decision.NodeUID || !d.staysDown(n) {
		return
	}
	var all []api.SaidCondition
	for _, c := range n.Conditions {
		if !slices.Contains(kubeletsOwn, c.Type) && c.Mark != "" && len(all) < api.MaxSaidBefore {
			all = append(all, c.Said())
		}
	}
	if len(all) > 0 {
		d.Record.KeepSaid(all)
	}
}

// staysDown tells whether the proven machine can't have booted by this look: what its monitors say after
// a boot is about that boot.
func (d *decision) staysDown(n observed.Node) bool {
	if n.BootID != d.Record.Proof.BootIDBefore {
		return false
	}
	return d.Record.Phase == api.Releasing || d.Record.Phase == api.PoweringOn && d.Record.Power.OnAt == nil
}

// noteIsolated keeps since when the node is isolated, if its policy counts from there. If somebody
// takes the taint away before Fencing, the time begins anew.
func (d *decision) noteIsolated() {
	switch p := &d.Record.Placed; {
	case !d.Seen.Node.Taint && d.Record.Phase != api.Fencing:
		p.IsolatedAt = nil
	case p.IsolatedAt != nil && p.IsolatedAt.After(d.Now):
		p.IsolatedAt = d.At(0) // the API server's clock was set back (S30)
	case d.Seen.Node.Taint && p.IsolatedAt == nil && !d.DrainGoesOn() && d.Decision.Settings.Isolation.PowerDelay.Duration > 0:
		p.IsolatedAt = d.At(0)
	}
}

// describe derives the words that people and other systems read.
func (d *decision) describe() {
	st := d.Record
	st.Views.NodeFencing = api.NodeFencingView{Step: st.Phase.Step(), Status: st.Phase.Status()}
	if st.Phase == api.Pending && d.PowerDue().After(d.Now) {
		st.Views.NodeFencing.Status = api.Isolating.Status() // the proposal waits in this step
	}
	d.scheduled()
	d.Record.Conditions = d.ConditionsNow()
}
