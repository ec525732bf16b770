package fence

import (
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// What is released rests on a proof that the machine writes no more. Here proofs are made,
// and here it is judged whether one still holds; nobody else does either.
//
//   - SeenOff: the machine's own device read off twice, a settle apart, and the node's Lease
//     did not move in between (S1, S5). It ages: half a minute after the second read it is
//     no proof any more (S3).
//   - StorageCut: each storage device that counts read cut off twice, a settle apart (S1).
//     It ages too, and speaks of the storage that the devices cover, and of nothing else.
//   - Confirmed: a person's word that the machine is off, which a Lease that moves refutes.
//     It does not age: a boot, or a Lease that moves, ends it.
//   - Kdump: messages of a dump that is under way, where the policy opts in. It ages within
//     seconds, and frees pods only.
//
// A proof is about one boot of one node's machine. Another boot ID, or a sign of life since,
// voids it (S3, S4).

// newProof is a proof of this kind about the node as the record knows it.
func (d *decision) newProof(kind api.ProofKind) *api.Proof {
	p := &api.Proof{
		Type: kind, FenceUID: d.fenceUID(), FenceNumber: d.st.FenceNumber,
		NodeUID: d.dec.NodeUID, BootIDBefore: d.st.BootIDBefore,
	}
	if b := d.binding(); b != nil {
		p.Device = b.Name
	}
	if r := d.st.Power.LastRead; r != nil && kind == api.ProofSeenOff {
		p.Identity = r.Identity
	}
	return p
}

// settleTime is the time between the two reads: where the Lease was fresh when the
// power went, a whole renewal and a margin, in which it must not move; and after our own
// Off the device's lead (S5).
func (d *decision) settleTime() time.Duration {
	settle := Settle
	if d.st.Power.LeaseFresh {
		settle = max(settle, d.seen.Lease.Renewal+d.seen.Lease.Renewal/5)
	}
	if d.st.Power.SwitchedByUs && d.st.Release.StartedAt == nil { // from there it was proven off once
		settle = max(settle, lead(d.binding()))
	}
	return settle
}

// lead is how long the device may read off before the machine is off. It is counted from
// the first read of off: when it began to say so is known to nobody. A binding of an older
// nodefence does not say.
func lead(b *api.Binding) time.Duration {
	if b == nil || b.Lead == nil {
		return DefaultLead
	}
	return b.Lead.Duration
}

// signOfLife names what contradicts the proof, if anything (S3).
func (d *decision) signOfLife() string {
	p, r := d.st.Proof, d.st.Release
	switch n := d.seen.Node; {
	case p == nil:
		return ""
	case p.BootIDBefore != "" && n.BootID != p.BootIDBefore:
		return "boot ID changed"
	case p.Type == api.ProofStorageCut:
		return "" // the machine may live: it does not write
	case d.leaseMovedSince(p.At), ahead(p.At.Time, d.now) && d.leaseFresh(): // a Lease that moves now has a time before such a proof
		return "the node's Lease moved"
	case r.MarkedAt != nil && n.Ready() && !d.within(r.MarkedAt, Settle):
		return "the node reports Ready again"
	}
	return ""
}

// dumpProves: the policy opts in, the fence waits for this dump, its messages arrive,
// the node's Lease has stopped before them, and the boot is the one that crashed. For
// each of them it counts only that it was seen now (S2).
func (d *decision) dumpProves() bool {
	r, m, k, n := kdumpRule(d.dec), d.seen.Dump, d.st.Kdump, d.seen.Node
	if r == nil || !d.dumpMayProve(r) || m == nil || k == nil || k.DoneAt != nil {
		return false
	}
	mine := n.Exists && n.UID != "" && n.UID == d.dec.NodeUID && !n.Ready()
	boot := k.BootID != "" && k.BootID == m.BootID && k.BootID == n.BootID
	return d.leaseStoppedBefore(m.Last) && mine && boot && m.Count > 1 && m.Last.Sub(m.First) >= dumpApart
}

// leaseStoppedBefore: the node's Lease is there, stands still, and did before t.
func (d *decision) leaseStoppedBefore(t time.Time) bool {
	still := d.st.Lease.StillSince
	return d.seen.Lease.Exists && still != nil && !d.leaseFresh() && t.After(still.Time)
}

// dumpMayProve: the policy opts in, pods are to be deleted and nothing else would have to be
// cut, and the fence waits for the dump anyway.
func (d *decision) dumpMayProve(r *api.KdumpSettings) bool {
	if !r.ReleasePodsWhileDumping || !d.dec.Settings.Release.Deletes() || len(d.dec.Isolation()) > 0 {
		return false
	}
	why, _ := d.dumpHolds()
	return why != "" && !d.begun() && !d.earlyOnly()
}

// proveDump makes the proof, anew for each batch (S3).
func (d *decision) proveDump() {
	p := d.newProof(api.ProofKdump)
	p.Device, p.BootIDBefore, p.At = "kdump "+d.seen.Dump.Source, d.st.Kdump.BootID, *d.stamp(d.seen.Dump.Last)
	d.st.Proof = p
}

// offBy are the proofs that speak of the machine as a whole.
var offBy = map[api.ProofKind]bool{api.ProofSeenOff: true, api.ProofConfirmed: true}

// dumpApart lies between the first of the messages and the last: one alone may
// have been sent by mistake, or lain somewhere.
const dumpApart = 5 * time.Second

// proveOff is of two reads of off.
func (d *decision) proveOff(first, last *api.Read) {
	p := d.newProof(api.ProofSeenOff)
	p.Reads, p.At = []api.Read{*first, *last}, last.At
	d.st.Proof, d.st.Power.FirstOff = p, nil
}

// onlyRemembered: so long before the second read the first one may have stood in a backup.
// Two reads make a proof, not one and a memory (S1, S16).
func (d *decision) onlyRemembered(first, last *api.Read) bool {
	return last.At.Sub(first.At.Time) > max(DecisionValidity, 2*d.settleTime())
}

// proveByWord is of a person's word, about the boot that is seen now if none was seen before.
func (d *decision) proveByWord(by string) {
	if d.st.BootIDBefore == "" {
		d.st.BootIDBefore = d.seen.Node.BootID
	}
	p := d.newProof(api.ProofConfirmed)
	p.By, p.At = by, d.time()
	d.st.Proof = p
}

// proveCut is of the reads of every device that counts. It is as old as the oldest of the
// last reads.
func (d *decision) proveCut() {
	p := d.newProof(api.ProofStorageCut)
	var devices []string
	for i, b := range d.dec.Isolation() {
		if !proves(b) {
			continue
		}
		r := d.record(i)
		p.Reads = append(p.Reads, *r.FirstCut, *r.LastRead)
		devices = append(devices, r.Device)
		if p.At.IsZero() || r.LastRead.At.Before(&p.At) {
			p.At = r.LastRead.At
		}
	}
	p.Device = strings.Join(devices, ", ")
	d.st.Proof = p
}

// seenCutTwice: a storage device reads as cut off, and did a settle ago; the last read is
// fresh.
func (d *decision) seenCutTwice(r *api.IsolationRecord) bool {
	return r.FirstCut != nil && r.LastRead != nil && r.LastRead.State == api.PoweredOff &&
		r.LastRead.At.Sub(r.FirstCut.At.Time) >= Settle && d.partOfProof(r.LastRead)
}

// partOfProof: a read is young enough to be a part of a proof.
func (d *decision) partOfProof(r *api.Read) bool { return d.within(&r.At, ProofValidity) }

// proofExpired says that the proof is of a kind that ages, and is too old, or of a time that
// is still to come; empty if it holds.
func (d *decision) proofExpired() string {
	if p := d.st.Proof; p.Type.Ages() && !d.within(&p.At, ProofValidity) {
		return "the proof is older than " + ProofValidity.String()
	}
	return ""
}

// dumpFresh: the last message of the dump is young enough to delete pods by (S3).
func (d *decision) dumpFresh() bool { return Fresh(d.seen.Dump.Last, d.now, DumpValidity) }

// whileProven is the first of a time and the end of the proof.
func (d *decision) whileProven(until time.Time) time.Time {
	if p := d.st.Proof; p.Type.Ages() {
		return sooner(until, p.At.Add(ProofValidity))
	}
	return until
}

// whileDumping is the first of a time and the end of what the last message of a dump proves.
func (d *decision) whileDumping(until time.Time) time.Time {
	return sooner(until, d.seen.Dump.Last.Add(DumpValidity))
}

// forgetProof has it made anew, from the first read.
func (d *decision) forgetProof() { d.st.Proof, d.st.Power.FirstOff = nil, nil }
