package fence

import (
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/fence/facts"
)

// NoteCredentials ends the pause of each device that has refused the account too often, and whose
// Secret or ConfigMap was written since. versions are those of now, by the device's words; a
// device whose version is not known stays as it is. It reports whether the record has changed.
//
// Such a device is asked once, and is left alone again if it refuses: something that writes the
// Secret again and again, and changes nothing in it, must not lock the account. No promise rests
// on the pause, and no rule on this note: the fence is only looked at again now.
func NoteCredentials(f *api.NodeFence, versions map[string]string, now time.Time) bool {
	st := f.Status
	d := &decision{Facts: facts.Facts{Record: &st, Decision: &st.Decision, Now: now}}
	st.Power.Denied = slices.Clone(st.Power.Denied)
	changed := false
	for i := range st.Power.Denied {
		r := &st.Power.Denied[i]
		is, known := versions[r.Device]
		if !Paused(*r, now) || r.Credentials == "" || !known || is == "" || is == r.Credentials {
			continue
		}
		r.Count, changed = facts.DeniedTries-1, true
		d.aside(api.CredentialsChanged, "the account of "+r.Device+" may have changed: its Secret or ConfigMap was written since it was refused; asking the device once")
	}
	if changed && st.Awaited != nil {
		st.Power.NotBefore = nil // it is only read, more and more slowly
	}
	if changed {
		d.lookAfter(0)
		f.Status = st
	}
	return changed
}

// Paused tells whether a device is left alone now because it has refused the account too often.
func Paused(r api.Denied, now time.Time) bool {
	return r.Count >= facts.DeniedTries && now.Before(r.At.Add(facts.DeniedPause))
}
