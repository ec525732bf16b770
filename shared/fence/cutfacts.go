package fence

import (
	"slices"
	"strings"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// Questions about the devices that cut a machine off from storage and network. None of them
// changes anything.

func owed(r api.IsolationRecord) bool { return r.SwitchedByUs && !r.Abandoned }

// backAt is from when the device may be spoken with: no word of ours can still cut it
// off (S8), the last try is long enough ago, and its account is not about to be locked.
func (d *decision) backAt(i int) (at time.Time) {
	r := d.record(i)
	if r.NotBefore != nil {
		at = r.NotBefore.Time
	}
	if u := r.EffectUntil; u != nil && r.OnAt == nil && u.After(at) {
		at = u.Time
	}
	if u, locked := d.lockedOut(&d.dec.Isolation()[i]); locked && u.After(at) {
		at = u
	}
	return at
}

// owesBack: something that we cut is still cut.
func (d *decision) owesBack() bool { return slices.ContainsFunc(d.st.Isolation, owed) }

// owesBackNow: something that we cut is still cut, and its device may be asked again.
func (d *decision) owesBackNow() bool {
	for i := range d.dec.Isolation() {
		if r := d.record(i); r != nil && owed(*r) && !d.now.Before(d.backAt(i)) {
			return true
		}
	}
	return false
}

// allDead: each device that we cut was tried as often as a step is.
func (d *decision) allDead() bool {
	return !slices.ContainsFunc(d.st.Isolation, func(r api.IsolationRecord) bool {
		return owed(r) && d.deviceIndex(r.Device) >= 0 && r.Tries < d.attempts()
	})
}

// cut is what a device has taken, in words.
func (d *decision) cut(r *api.IsolationRecord) string {
	if b := d.dec.Device(r.Device); b != nil {
		return taken(*b)
	}
	return r.Device + " (" + r.Words() + ")"
}

// stillCut names what a fence that was sent back has not given back yet; empty of any other.
func (d *decision) stillCut() string {
	var names []string
	for i := range d.st.Isolation {
		if r := &d.st.Isolation[i]; owed(*r) {
			names = append(names, d.cut(r))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; still cut off until its device answers: " + strings.Join(names, ", ")
}

// marked: something of ours is on the node, or is to be given back to it now.
func (d *decision) marked() bool {
	mine := d.seen.Node.Exists && d.seen.Node.UID == d.dec.NodeUID
	return mine && d.seen.Node.Taint || d.owesBackNow()
}

// wasOff: nothing of before the cut runs on this machine, which reads off, or was proven
// off. Where its Node is gone Kubernetes lets go of its work, whether anything was
// released or not. That an On of ours was sent shows nothing: a machine of several
// supplies is sent one while it runs.
func (d *decision) wasOff() bool {
	r := d.st.Power.LastRead
	return d.st.Release.DoneAt != nil || r != nil && r.State == api.PoweredOff
}

// unused: the kubelet lives and says that none of the released volumes is in use.
func (d *decision) unused() bool {
	n := d.seen.Node
	if d.st.Release.RebootOnly || !n.Ready() || !d.leaseFresh() || d.st.PhaseSince == nil || !d.leaseMovedSince(*d.st.PhaseSince) {
		return false
	}
	return !slices.ContainsFunc(n.VolumesInUse, func(v string) bool { return slices.Contains(d.st.Release.Volumes, v) })
}

// record is that of the device at this place of the isolation.
func (d *decision) record(i int) *api.IsolationRecord { return d.recordOf(d.dec.Isolation()[i].Name) }

// recordOf is what came of the device of that name; nil if nothing did.
func (d *decision) recordOf(device string) *api.IsolationRecord {
	for i := range d.st.Isolation {
		if d.st.Isolation[i].Device == device {
			return &d.st.Isolation[i]
		}
	}
	return nil
}

// deviceIndex is where a device stands in the isolation; -1 if it does not.
func (d *decision) deviceIndex(device string) int {
	for i := range d.dec.Isolation() {
		if d.dec.Isolation()[i].Name == device {
			return i
		}
	}
	return -1
}

// taken is what a device takes from the machine, in words.
func taken(b api.Binding) string {
	return strings.ToLower(string(b.Role)) + " (" + b.Driver + " " + b.Address + ")"
}

// proves: that this device cuts is worth something beyond caution.
func proves(b api.Binding) bool {
	return b.Must && b.Role == api.RoleStorage && !b.Covers.Empty()
}
