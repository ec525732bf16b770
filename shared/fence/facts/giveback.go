package facts

import (
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Withheld says why access is not given back yet; empty if it may be. What was
// released may be written to by another machine now. So that this one does not write
// too, it was off since, has rebooted since, or its kubelet, alive, says that it uses
// none of those volumes any more.
func (d *Facts) Withheld(i int) string {
	if d.mayHaveAccess(i) {
		return ""
	}
	r, n := d.Record.Release, d.Seen.Node
	msg := "access is given back once the node has rebooted"
	switch {
	case !n.Exists || n.UID != d.Decision.NodeUID:
		msg += ", which nobody can see: its Node object is gone. Delete this record, and give access back by hand"
	case r.By == api.ProofStorageCut && !r.RebootOnly:
		msg += fmt.Sprintf(", or is Ready and uses none of the %d released volumes any more", len(r.Volumes))
	case r.By == api.ProofStorageCut:
		msg += ": not all that was released shows in its volumesInUse"
	default:
		msg += ": it was seen off, and its Lease moves under the same boot ID"
	}
	return msg
}

// mayHaveAccess: nothing that ran on the machine before can write through this device any
// more (S4).
func (d *Facts) mayHaveAccess(i int) bool {
	r, n := d.Record.Release, d.Seen.Node
	mine := n.Exists && n.UID == d.Decision.NodeUID
	rebooted := mine && r.BootID != "" && n.BootID != "" && n.BootID != r.BootID
	switch {
	case rebooted:
		return true
	case r.By == "":
		return mine || d.wasOff()
	case r.By != api.ProofStorageCut: // seen off, or said to be: unless anything speaks against that
		return !mine || r.StartedAt != nil && !d.LeaseMovedSince(*r.StartedAt)
	case d.Decision.Isolation()[i].Role == api.RoleNetwork:
		return true // its storage stays cut, and without network nobody hears that it rebooted
	}
	return mine && d.unused()
}

// Uncordoned: our cordon was on the node when it was first held for a person, in this
// recovery, and is there no more. A cordon that went earlier says nothing of this failure;
// one that was there before the fence is somebody else's, who may take it away for reasons
// of his own.
func (d *Facts) Uncordoned() bool { return d.Record.KeptSince != nil && !d.Seen.Node.Cordoned }

// OurCordon: the node has a cordon, and we placed one.
func (d *Facts) OurCordon() bool { return d.Record.Placed.Cordon && d.Seen.Node.Cordoned }

// UntilUncordoned says who keeps the node isolated, and how that ends.
func (d *Facts) UntilUncordoned() string {
	how := "gives it back (spec.requests.uncordon)"
	if d.OurCordon() {
		how = "uncordons it (kubectl uncordon, or spec.requests.uncordon)"
	}
	return "policy " + d.Decision.Policy.Name + " keeps it isolated until a person " + how
}

// Keeps: this node was fenced and is isolated still, and its policy leaves it to a
// person to end that. What somebody has given back by hand can't be kept.
func (d *Facts) Keeps() bool {
	n := d.Seen.Node
	if d.Decision.Settings.Recovery.Uncordon != api.UncordonManual || d.Requests.Abort != nil || d.Seen.Deleting || n.UID != d.Decision.NodeUID || !n.Taint {
		return false
	}
	access := func(r api.IsolationRecord) bool { return r.OffAt != nil }
	return d.Record.CutOrReleased || d.Decision.Settings.Action == api.ActionIsolate || slices.ContainsFunc(d.Record.Isolation, access)
}

// UncordonAsked: a person wants this node back, and it is this time that they speak of.
func (d *Facts) UncordonAsked() bool {
	r := d.Requests.Uncordon
	return r != nil && !d.Record.Answered(api.AskedUncordon, r.At)
}
