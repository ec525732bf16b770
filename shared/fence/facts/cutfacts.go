package facts

import (
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Questions about the devices that cut a machine off from storage and network. None of them
// changes anything.

// Owed: we cut it, and have not given up to give it back (S25: what we cut is undone).
func Owed(r api.IsolationRecord) bool { return r.SwitchedByUs && !r.Abandoned }

// BackAt is from when the device may be spoken with: no word of ours can still cut it
// off (S8), the last try is long enough ago, and its account is not about to be locked.
func (d *Facts) BackAt(i int) (at time.Time) {
	r := d.CutRecord(i)
	if r.NotBefore != nil {
		at = r.NotBefore.Time
	}
	if u := r.EffectUntil; u != nil && r.OnAt == nil && u.After(at) {
		at = u.Time
	}
	if u, locked := d.LockedOut(&d.Decision.Isolation()[i]); locked && u.After(at) {
		at = u
	}
	return at
}

// OwesBack: something that we cut is still cut.
func (d *Facts) OwesBack() bool { return slices.ContainsFunc(d.Record.Isolation, Owed) }

// owesBackNow: something that we cut is still cut, and its device may be asked again.
func (d *Facts) owesBackNow() bool {
	for i := range d.Decision.Isolation() {
		if r := d.CutRecord(i); r != nil && Owed(*r) && !d.Now.Before(d.BackAt(i)) {
			return true
		}
	}
	return false
}

// AllDead: each device that we cut was tried as often as a step is.
func (d *Facts) AllDead() bool {
	return !slices.ContainsFunc(d.Record.Isolation, func(r api.IsolationRecord) bool {
		return Owed(r) && d.DeviceIndex(r.Device) >= 0 && r.Tries < d.Attempts()
	})
}

// IsCut is what a device has taken, in words.
func (d *Facts) IsCut(r *api.IsolationRecord) string {
	if b := d.Decision.Device(r.Device); b != nil {
		return Taken(*b)
	}
	return r.Device + " (" + r.Words() + ")"
}

// StillCut names what a fence that was sent back has not given back yet; empty of any other.
func (d *Facts) StillCut() string {
	var names []string
	for i := range d.Record.Isolation {
		if r := &d.Record.Isolation[i]; Owed(*r) {
			names = append(names, d.IsCut(r))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; still cut off until its device answers: " + strings.Join(names, ", ")
}

// MarksStay: a mark that we placed is on the node, whatever somebody else has taken off (S22).
func (d *Facts) MarksStay() bool {
	n := d.Seen.Node
	mine := n.Exists && n.UID == d.Decision.NodeUID
	return mine && (n.Taint || n.ScaleDownOurs || d.Record.Placed.Cordon && n.Cordoned && n.CordonOurs)
}

// Marked: something of ours is on the node, or is to be given back to it now.
func (d *Facts) Marked() bool { return d.MarksStay() || d.owesBackNow() }

// wasOff: nothing of before the cut runs on this machine, which reads off, or was proven
// off. Where its Node is gone Kubernetes lets go of its work, whether anything was
// released or not. That an On of ours was sent shows nothing: a machine of several
// supplies is sent one while it runs.
func (d *Facts) wasOff() bool {
	r := d.Record.Power.LastRead
	return d.Record.Release.DoneAt != nil || r != nil && r.State == api.PoweredOff
}

// unused: the kubelet lives and says that none of the released volumes is in use.
func (d *Facts) unused() bool {
	n := d.Seen.Node
	if d.Record.Release.RebootOnly || !n.Ready() || !d.LeaseFresh() || d.Record.PhaseSince == nil || !d.LeaseMovedSince(*d.Record.PhaseSince) {
		return false
	}
	return !slices.ContainsFunc(n.VolumesInUse, func(v string) bool { return slices.Contains(d.Record.Release.Volumes, v) })
}

// CutRecord is that of the device at this place of the isolation.
func (d *Facts) CutRecord(i int) *api.IsolationRecord {
	return d.RecordOf(d.Decision.Isolation()[i].Name)
}

// RecordOf is what came of the device of that name; nil if nothing did.
func (d *Facts) RecordOf(device string) *api.IsolationRecord {
	for i := range d.Record.Isolation {
		if d.Record.Isolation[i].Device == device {
			return &d.Record.Isolation[i]
		}
	}
	return nil
}

// DeviceIndex is where a device stands in the isolation; -1 if it does not.
func (d *Facts) DeviceIndex(device string) int {
	for i := range d.Decision.Isolation() {
		if d.Decision.Isolation()[i].Name == device {
			return i
		}
	}
	return -1
}

// Taken is what a device takes from the machine, in words.
func Taken(b api.Binding) string {
	return strings.ToLower(string(b.Role)) + " (" + b.Driver + " " + b.Address + ")"
}

// Proves: that this device cuts is worth something beyond caution.
func Proves(b api.Binding) bool {
	return b.Must && b.Role == api.RoleStorage && !b.Covers.Empty()
}

// Claimed is the device that the claimed call is for; nil if it is bound no more.
func Claimed(f *api.NodeFence) *api.Binding {
	if c := f.Status.Claim; c != nil {
		return f.Status.Decision.Device(c.Device)
	}
	return nil
}

// NotCut names what the fence goes on without.
func (d *Facts) NotCut() string {
	var names []string
	for _, r := range d.Record.Isolation {
		if b := d.Decision.Device(r.Device); r.GaveUp && b != nil {
			names = append(names, Taken(*b)+" is not cut off: "+r.LastError)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + strings.Join(names, "; ")
}

// CutDone: nothing more is to be done about this device. Where its cut is the proof,
// that is two reads, a settle apart, of which the last is fresh (S1, S3).
func (d *Facts) CutDone(i int) bool {
	r := d.CutRecord(i)
	switch {
	case CutOnly(d.Decision) && Proves(d.Decision.Isolation()[i]):
		return d.SeenCutTwice(r)
	case r.GaveUp:
		return true
	}
	return r.SeenCutAt != nil
}

// Uncut: a device of the isolation has still to be spoken with. Each has a record.
func (d *Facts) Uncut() bool {
	for i := range d.Decision.Isolation() {
		if !d.CutDone(i) {
			return true
		}
	}
	return false
}

// CutsBeforePower: storage and network are cut before the power is. Where only its Lease
// spoke for this fence until now, that has still to be done.
func (d *Facts) CutsBeforePower() bool {
	return !d.Begun() && !d.EarlyOnly() && !d.ConfirmAsked() && d.Decision.Settings.Action.Device()
}

// DevicesStay: something was switched off by the devices as they are bound. It is by
// them that it is switched on again, whatever their configuration says by now (S11, S12).
func DevicesStay(f *api.NodeFence) bool {
	return f.Status.Begun() || slices.ContainsFunc(f.Status.Isolation, Owed)
}
