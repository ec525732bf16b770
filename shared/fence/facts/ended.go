package facts

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// NodeEnded says why there is nothing any more in whose name anything could be done;
// empty while the node is the one that was fenced.
func (d *Facts) NodeEnded() (why api.Reason, msg string) {
	switch n := d.Seen.Node; {
	case n.Exists && n.UID == d.Decision.NodeUID:
		return "", ""
	case n.Exists:
		return api.NodeReplaced, "another Node object of this name exists; the old record ends"
	case d.Record.Release.DeleteNodeUntil != nil:
		return api.NodeDeleted, "its Node object was deleted, as the policy says (release.deleteNode)"
	}
	return api.NodeGone, "the Node object was deleted"
}

// UncutSoFar is part of a sentence.
func (d *Facts) UncutSoFar() string {
	if d.Record.Power.Cuts > 0 {
		return "; its power was not cut again"
	}
	return "; no power was cut"
}

// AliveAgain names what shows that a machine of which work was released lives, while
// a proof is to be made anew (S3, S4, S23).
func (d *Facts) AliveAgain() string {
	switch n := d.Seen.Node; {
	case d.Record.Release.StartedAt == nil || !n.Exists:
		return ""
	case d.Record.BootIDBefore != "" && n.BootID != d.Record.BootIDBefore:
		return "boot ID changed"
	case d.Record.PhaseSince != nil && d.LeaseMovedSince(*d.Record.PhaseSince):
		return "the node's Lease moved"
	}
	return ""
}

// MustAwait: there is something that only this machine's device can end.
func (d *Facts) MustAwait() bool {
	r, p := d.Record.Release, d.Record.Phase
	began := r.StartedAt != nil && r.DoneAt == nil && (p.HoldsSlot() || p == api.Pending)
	return (d.Record.Power.SwitchedByUs || began) && d.Decision.Power(0) != nil && d.Decision.Settings.Action.Reads()
}

// LostBinding: we cut the power, and its device can't be resolved any more.
func (d *Facts) LostBinding() bool {
	return d.Record.Power.SwitchedByUs && d.Decision.Power(0) == nil && !d.ConfirmAsked()
}

// Awaits is what such a fence waits for, in words.
func (d *Facts) Awaits(msg string) string {
	begun := "power was cut"
	switch {
	case d.Record.Power.SwitchedByUs:
	case d.Record.Phase == api.Isolating:
		begun = "access was cut"
	default:
		begun = "a release was begun"
	}
	if msg != "" {
		begun += ", and then: " + msg
	}
	return begun + "; the device is read until it answers, at least every " + SlowRetry.String() + ", without a slot and without another Off"
}

// Ending: a person has asked for the end of this record.
func (d *Facts) Ending() bool { return d.Requests.Abort != nil || d.Seen.Deleting }
