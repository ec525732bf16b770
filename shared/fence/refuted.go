package fence

import (
	"fmt"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// A power cut that the boot ID refutes is the worst news there is: a device said off, work was released on its word,
// and then the node's kubelet says the boot ID that the node had before the cut. The machine never was off, and two
// writers may have run.
//
//   - status.provenCut keeps what the cut rests on: the device, the boot ID, and the heartbeat of the Node at the
//     proof. It is saved with the proof, and outlives the proof and the fence, until the cut is judged.
//   - status.provenCut.heartbeatSince is written by the first look that sees the same boot ID in a status from after the
//     cut. The network may have delayed this status from before the cut, so it refutes nothing by itself. A Lease that
//     moves refutes nothing either: a kubelet may renew the Lease before its first status.
//   - status.refuted is written by the first look that sees the same boot ID in a second status, with another heartbeat.
//     It outlives the fence, until spec.trust names it.
//   - While it stands no read of off is a proof (S1), no Off is sent, and the table of holds keeps each later fence of
//     the node at the gate. A person's word that the machine is off still counts, unless a device reads on.
//
// A machine that was found off is left out: it may have hibernated, and a hibernated machine keeps its boot ID. A boot ID
// that several nodes have, as containers and cloned images do, is no evidence.
//
// If the process dies between two of these saves, the next look finds the cut or the refutation in the record, and
// comes to the same end: nothing of it is known to a process alone.

// noteCutProven keeps what a power cut rests on that two reads have just proven.
func (d *decision) noteCutProven() {
	b, n, boot := d.Binding(), d.Seen.Node, d.Record.BootIDBefore
	if b == nil || boot == "" || !d.Record.Power.SwitchedByUs {
		return
	}
	d.Record.ProvenCut = &api.ProvenCut{
		FenceNumber: d.Record.FenceNumber, NodeUID: d.Decision.NodeUID, Device: b.Words(), Level: d.Record.Power.Level + 1,
		BootID: boot, Heartbeat: n.Heartbeat, ProvenAt: d.Time(),
	}
}

// noteRefuted judges a proven power cut by the statuses that the kubelet has written since. Another boot ID confirms the
// cut at once. The boot ID from before the cut refutes the cut by the second heartbeat: the network may have delayed one
// status from before the cut.
func (d *decision) noteRefuted() {
	c, n := d.Record.ProvenCut, d.Seen.Node
	switch {
	case !facts.JudgesCut(d.Record.Phase) || !facts.ToldSinceCut(c, n):
	case n.BootID != c.BootID:
		d.Record.ProvenCut = nil
	case !facts.SameBoot(c, n):
	case n.BootIDShared:
		d.Record.ProvenCut = nil
	case c.HeartbeatSince == "":
		c.HeartbeatSince = n.Heartbeat
	default:
		d.refuteCut(c)
	}
}

// refuteCut writes that the boot ID refutes a proven power cut.
func (d *decision) refuteCut(c *api.ProvenCut) {
	d.Record.ProvenCut = nil
	d.Record.Refuted = &api.Refutation{At: d.Time(), FenceNumber: c.FenceNumber, Device: c.Device, Level: c.Level, BootID: c.BootID, ProvenAt: c.ProvenAt}
	d.aside(api.CutRefuted, d.Record.Refuted.Words())
	if d.Record.Outcome == api.Recovered {
		d.Record.Outcome = d.recoveredAs() // the kubelet has said so while the fence was taking back its marks
	}
}

// hearTrust ends a refutation that a person's statement names.
func (d *decision) hearTrust(t *api.Trust) {
	r := d.Record.Refuted
	if !t.Names(r) {
		return
	}
	d.Record.Refuted = nil
	d.aside(api.DeviceTrusted, fmt.Sprintf("%s says that %s may be believed again, after its cut in fence %d was refuted: %s", t.By, r.Device, r.FenceNumber, t.Reason))
}

// leaveRefuted has a fence read nothing more and cut nothing more by devices of which one is refuted. The fence waits for
// the node's health, and goes back to the gate without it, where the table of holds keeps the fence.
func (d *decision) leaveRefuted() outcome {
	if d.Record.Refuted == nil {
		return goOn
	}
	d.switchedOnByOther()
	return d.leave(api.Recovering, api.CutRefuted, d.Record.Refuted.Words())
}

// runsAfterAll ends the power-on of a machine that never was off: its kubelet has said so.
func (d *decision) runsAfterAll() outcome {
	if !d.RefutedHere() {
		return goOn
	}
	d.Record.Power.Cut = nil
	return d.leaveRefuted()
}

// recoveredAs is the outcome of a fence whose node is back.
func (d *decision) recoveredAs() api.Reason {
	if d.RefutedHere() {
		return api.CutRefuted
	}
	return api.Recovered
}

// Doubts tells whether a look at the record must list the Nodes: whether another node has the same boot ID decides
// whether a power cut is refuted.
func Doubts(f *api.NodeFence, n observed.Node) bool {
	return facts.JudgesCut(f.CurrentPhase()) && facts.SameBoot(f.Status.ProvenCut, n)
}
