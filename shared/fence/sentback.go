package fence

import (
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A fence that is sent back to the gate gives back first what it cut. Where a device of it
// is dead, that may take for ever, and until then nobody would look whether the node may,
// and must, be fenced again. So after as many tries as a step has it goes back with that
// device still cut, says so, and tries again from there, more and more slowly (S22, S25).

// allDead: each device that we cut was tried as often as a step is.
func (d *decision) allDead() bool {
	return !slices.ContainsFunc(d.st.Isolation, func(r api.IsolationRecord) bool {
		return owed(r) && d.deviceIndex(r.Device) >= 0 && r.Tries < d.attempts()
	})
}

// owesBackNow: something that we cut is still cut, and its device may be asked again.
func (d *decision) owesBackNow() bool {
	for i := range d.dec.Isolation() {
		if r := d.record(i); r != nil && owed(*r) && !d.now.Before(d.backAt(i)) {
			return true
		}
	}
	return false
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

// cutAnew has the devices that we cut asked at once under a new slot, and as often as ever.
func (d *decision) cutAnew() {
	for i := range d.st.Isolation {
		if r := &d.st.Isolation[i]; r.SwitchedByUs {
			r.Tries, r.NotBefore = 0, nil
		}
	}
}
