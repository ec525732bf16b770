package facts

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/observed"
)

// Questions about the boot ID that a node has after a power cut that two reads have proven. None of them changes
// anything.

// ToldSinceCut: the kubelet of the node that was cut has written the Node's status since the cut was proven. A Lease may
// move before the status tells the new boot ID, so a status from before the cut says nothing about the cut. A controller
// that sets Ready to Unknown is no kubelet.
func ToldSinceCut(c *api.ProvenCut, n observed.Node) bool {
	return c != nil && n.Exists && n.UID == c.NodeUID && n.Heartbeat != "" && n.Heartbeat != c.Heartbeat && n.KubeletSays()
}

// SameBoot: the kubelet has said, since the cut, the boot ID that the node had before the cut.
func SameBoot(c *api.ProvenCut, n observed.Node) bool {
	return ToldSinceCut(c, n) && n.BootID == c.BootID
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
