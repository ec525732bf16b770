package fence

import (
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// What is released rests on a proof that the machine writes no more. Here proofs are made,
// and here it is judged whether one still holds; nobody else does either.
//
//   - SeenOff: the machine's own device read off twice, a settle apart, and the node's Lease
//     did not move in between (S1, S5). It ages: half a minute after the second read it is
//     no proof any more (S3).
//   - StorageCut: each storage device that counts read cut off twice, a settle apart (S1).
//     It ages too, and speaks of the storage that the devices cover, and of nothing else.
//   - Confirmed: a person's word that the machine is off. A Lease that moves, or a power device that
//     reads on, refutes the word (word.go). The proof does not age: a boot, or a Lease that moves, ends it.
//   - Kdump: messages of a dump that is under way, where the policy opts in. It ages within
//     seconds, and frees pods only.
//
// A proof is about one boot of one node's machine. Another boot ID, or a sign of life since,
// voids it (S3, S4). While the boot ID refutes a power cut of the node (refuted.go), no read is a proof.

// newProof is a proof of this kind about the node as the record knows it.
func (d *decision) newProof(kind api.ProofKind) *api.Proof {
	p := &api.Proof{
		Type: kind, FenceUID: d.FenceUID(), FenceNumber: d.Record.FenceNumber,
		NodeUID: d.Decision.NodeUID, BootIDBefore: d.Record.BootIDBefore,
	}
	if b := d.Binding(); b != nil {
		p.Device = b.Name
	}
	if r := d.Record.Power.LastRead; r != nil && kind == api.ProofSeenOff {
		p.Identity = r.Identity
	}
	return p
}

// dumpProves: the policy opts in, the fence waits for this dump, its messages arrive,
// the node's Lease has stopped before them, and the boot is the one that crashed. For
// each of them it counts only that it was seen now (S2).
func (d *decision) dumpProves() bool {
	r, m, k, n := facts.Kdump(d.Decision), d.Seen.Dump, d.Record.Kdump, d.Seen.Node
	if r == nil || !d.dumpMayProve(r) || m == nil || k == nil || k.DoneAt != nil {
		return false
	}
	mine := n.Exists && n.UID != "" && n.UID == d.Decision.NodeUID && !n.Ready()
	boot := k.BootID != "" && k.BootID == m.BootID && k.BootID == n.BootID
	return d.leaseStoppedBefore(m.Last) && mine && boot && m.Count > 1 && m.Last.Sub(m.First) >= dumpApart
}

// leaseStoppedBefore: the node's Lease is there, stands still, and did before t.
func (d *decision) leaseStoppedBefore(t time.Time) bool {
	still := d.Record.Lease.StillSince
	return d.Seen.Lease.Exists && still != nil && !d.LeaseFresh() && t.After(still.Time)
}

// dumpMayProve: the policy opts in, pods are to be deleted and nothing else would have to be
// cut, and the fence waits for the dump anyway.
func (d *decision) dumpMayProve(r *api.KdumpSettings) bool {
	if !r.ReleasePodsWhileDumping || !d.Decision.Settings.Release.Deletes() || len(d.Decision.Isolation()) > 0 {
		return false
	}
	why, _ := d.DumpHolds()
	return why != "" && !d.Begun() && !d.EarlyOnly()
}

// proveDump makes the proof, anew for each batch (S3).
func (d *decision) proveDump() {
	p := d.newProof(api.ProofKdump)
	p.Device, p.BootIDBefore, p.At = "kdump "+d.Seen.Dump.Source, d.Record.Kdump.BootID, *d.Stamp(d.Seen.Dump.Last)
	d.Record.Proof = p
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
	d.Record.Proof, d.Record.Power.FirstOff = p, nil
	d.noteCutProven()
}

// onlyRemembered: so long before the second read the first one may have stood in a backup.
// Two reads make a proof, not one and a memory (S1, S16).
func (d *decision) onlyRemembered(first, last *api.Read) bool {
	return last.At.Sub(first.At.Time) > max(facts.AdmissionValidity(d.Decision), 2*d.SettleTime())
}

// proveByWord is of a person's word, about the boot that is seen now if none was seen before.
func (d *decision) proveByWord(by string) {
	if d.Record.BootIDBefore == "" {
		d.Record.BootIDBefore = d.Seen.Node.BootID
	}
	p := d.newProof(api.ProofConfirmed)
	p.By, p.At = by, d.Time()
	d.Record.Proof = p
}

// proveCut is of the reads of every device that counts. It is as old as the oldest of the
// last reads.
func (d *decision) proveCut() {
	p := d.newProof(api.ProofStorageCut)
	var devices []string
	for i, b := range d.Decision.Isolation() {
		if !facts.Proves(b) {
			continue
		}
		r := d.CutRecord(i)
		p.Reads = append(p.Reads, *r.FirstCut, *r.LastRead)
		devices = append(devices, r.Device)
		if p.At.IsZero() || r.LastRead.At.Before(&p.At) {
			p.At = r.LastRead.At
		}
	}
	p.Device = strings.Join(devices, ", ")
	d.Record.Proof = p
}

// forgetProof has it made anew, from the first read.
func (d *decision) forgetProof() { d.Record.Proof, d.Record.Power.FirstOff = nil, nil }
