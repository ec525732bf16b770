package facts

import (
	"cmp"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Questions about the boot ID that a node has after a power cut that two reads have proven. None of them changes
// anything.

// ToldSinceCut: the Node's status, written by the kubelet, has another heartbeat than at the proof of the cut. A Lease may
// move before the status tells the new boot ID, so a status from before the cut says nothing about the cut. A controller
// that sets Ready to Unknown is no kubelet. Under another UID another boot ID may be of another machine, and says nothing
// about the machine that was cut; the boot ID from before the cut is of that machine, whatever the UID.
func ToldSinceCut(c *api.ProvenCut, n observed.Node) bool {
	if c == nil || !n.Exists || n.Heartbeat == "" || n.Heartbeat == c.Heartbeat || !n.KubeletSays() {
		return false
	}
	return n.UID == c.NodeUID || n.BootID == c.BootID
}

// SameBoot: a status from after the cut has the boot ID from before the cut, in a heartbeat that was not counted yet.
func SameBoot(c *api.ProvenCut, n observed.Node) bool {
	return ToldSinceCut(c, n) && n.BootID == c.BootID && n.Heartbeat != c.HeartbeatSince
}

// AwaitsJudgment: the node is back and says the boot ID from before the proven power cut, in no status or in one status
// since the cut. The next status of its kubelet judges the cut. A node that fails again, or a person who ends the fence,
// is not kept waiting.
func (d *Facts) AwaitsJudgment() bool {
	c, n, back := d.Record.ProvenCut, d.Seen.Node, cmp.Or(d.Record.ReadySince, d.Record.PhaseSince)
	switch {
	case c == nil || d.Ending() || d.Record.Outcome != api.Recovered && d.Record.Outcome != api.NodeReplaced:
		return false
	case !n.Ready() || !d.LeaseFresh() || d.Unhealthy() || n.Heartbeat == "" || n.BootID != c.BootID:
		return false
	}
	return d.Within(back, CutJudged)
}

// JudgesCut: in this phase a function looks at the fence that may list Nodes, to see whether others have the boot ID.
func JudgesCut(p api.Phase) bool {
	switch p {
	case api.Draining, api.Isolating, api.Releasing, api.Restoring:
		return false
	}
	return true
}

// RefutedHere: the power cut of this very fence is refuted.
func (d *Facts) RefutedHere() bool {
	r := d.Record.Refuted
	return r != nil && r.FenceNumber == d.Record.FenceNumber
}
