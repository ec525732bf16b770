package fence

import (
	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/clip"
)

// How a call to a device ended is recorded here: that of this invocation, and that of one
// which never reported.

// noteCall records what this invocation's device call gave, and ends its claim.
func (d *decision) noteCall() {
	c := d.seen.Call
	if c == nil || d.st.Claim == nil || d.st.Claim.Holder != d.seen.Me {
		return // a late result of a call whose claim is gone counts for nothing
	}
	claim := d.st.Claim
	d.st.Claim = nil
	c.Err, c.Identity, c.MissingSupply = clip.Message(c.Err), clip.Message(c.Identity), clip.Message(c.MissingSupply) // a record that does not fit its schema could not be saved any more
	d.noteJobs(c)
	switch b := d.dec.Device(claim.Device); {
	case b == nil:
		return // nor does that of a device which is bound no more; what it did may take effect as long as was saved (S8)
	case b.Role == api.RolePower:
		d.callEnd = c
		if c.Call == api.CallOff {
			d.st.Power.OffError, d.refused = c.Err, c.Refused
		}
		d.power().noteEnd(claim, c)
	case d.recordOf(b.Name) != nil: // else it is of an earlier fence
		d.callDevice = b.Name
		if c.Blind && d.recordOf(b.Name).SwitchedByUs {
			c.Power, c.Err = "Off", "" // we have seen it with access, by this very binding, and cut it
		}
		d.accessBy(b).noteEnd(claim, c)
	}
}

// lostCall takes over a claim whose holder never reported.
func (d *decision) lostCall() {
	c := d.st.Claim
	if c == nil || d.now.Before(d.takeover(c)) {
		return
	}
	d.st.Claim = nil
	switch b := d.dec.Device(c.Device); {
	case b == nil: // what there is now was not told anything
	case b.Role == api.RolePower:
		d.lost = true
		d.power().noteLost(c.Call)
		say := d.tell
		if d.st.Phase == api.Recovering {
			say = d.aside // why it is there stands: it may go back to the gate with that
		}
		say(api.CallLost, "nobody reported the end of a "+string(c.Call)+"; reading the device first")
	case d.recordOf(b.Name) != nil:
		d.accessBy(b).noteLost(c.Call)
		d.tell(api.CallLost, "nobody reported the end of a "+string(c.Call)+" to "+b.Words()+"; reading it first")
	}
}

// noteJobs records in which Jobs an agent ran for a call.
func (d *decision) noteJobs(c *CallResult) {
	d.st.Jobs = append(d.st.Jobs, c.Jobs...)
	if n := len(d.st.Jobs) - maxJobs; n > 0 {
		d.st.Jobs = d.st.Jobs[n:]
	}
}

// maxJobs is how many of a fence's Jobs are kept in its record.
const maxJobs = 16
