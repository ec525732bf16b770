package facts

import (
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// What a proof rests on, what contradicts it, and until when it holds (S3).

// SignOfLife names what contradicts the proof, if anything (S3). Of a proof of the future nobody can
// tell whether the Lease has moved since. One that ages is made anew for that (ProofExpired); beside
// any other a fresh Lease is taken for one that moved (S30).
func (d *Facts) SignOfLife() string {
	p, r := d.Record.Proof, d.Record.Release
	switch n := d.Seen.Node; {
	case p == nil:
		return ""
	case p.BootIDBefore != "" && n.BootID != p.BootIDBefore:
		return "boot ID changed"
	case p.Type == api.ProofStorageCut:
		return "" // the machine may live: it does not write
	case d.LeaseMovedSince(p.At), !p.Type.Ages() && observed.Ahead(p.At.Time, d.Now) && d.LeaseFresh():
		return "the node's Lease moved"
	case r.MarkedAt != nil && n.Ready() && !d.Within(r.MarkedAt, Settle):
		return "the node reports Ready again"
	}
	return ""
}

// SeenCutTwice: a storage device reads as cut off, and did a settle ago; the last read is
// fresh.
func (d *Facts) SeenCutTwice(r *api.IsolationRecord) bool {
	return r.FirstCut != nil && r.LastRead != nil && r.LastRead.State == api.PoweredOff &&
		r.LastRead.At.Sub(r.FirstCut.At.Time) >= Settle && d.PartOfProof(r.LastRead)
}

// ProofHolds is how long a proof of this fence holds. It is dated from before its last read,
// which may take as long as a call may: with less, what a slow device proves would be too old
// before anything is released.
func (d *Facts) ProofHolds() time.Duration {
	return ProofValidity + api.LongerCalls(d.Decision.CallLimit())
}

// PartOfProof: a read is young enough to be a part of a proof.
func (d *Facts) PartOfProof(r *api.Read) bool { return d.Within(&r.At, d.ProofHolds()) }

// ProofExpired says that the proof is of a kind that ages, and is too old, or of a time that
// is still to come; empty if it holds.
func (d *Facts) ProofExpired() string {
	if p := d.Record.Proof; p.Type.Ages() && !d.Within(&p.At, d.ProofHolds()) {
		return "the proof is older than " + d.ProofHolds().String()
	}
	return ""
}

// DumpFresh: the last message of the dump is young enough to delete pods by (S3).
func (d *Facts) DumpFresh() bool {
	return observed.Fresh(d.Seen.Dump.Last, d.Now, DumpValidity)
}

// WhileProven is the first of a time and the end of the proof.
func (d *Facts) WhileProven(until time.Time) time.Time {
	if p := d.Record.Proof; p.Type.Ages() {
		return Sooner(until, p.At.Add(d.ProofHolds()))
	}
	return until
}

// WhileDumping is the first of a time and the end of what the last message of a dump proves.
func (d *Facts) WhileDumping(until time.Time) time.Time {
	return Sooner(until, d.Seen.Dump.Last.Add(DumpValidity))
}
