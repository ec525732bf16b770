package fence

import (
	"cmp"
	"fmt"
	"slices"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

var refusedOften = fmt.Sprintf("the device refused the account %d times", deniedTries)

// noteDenied counts how often a device, of power or of the isolation, has refused us in
// a row.
func (d *decision) noteDenied(b *api.Binding, c *CallResult) {
	if b == nil {
		return
	}
	was := api.Denied{Device: b.Words()}
	rest := slices.DeleteFunc(slices.Clone(d.st.Power.Denied), func(r api.Denied) bool {
		if r.Device == was.Device {
			was = r
			return true
		}
		return false
	})
	d.st.Power.Denied = nil
	if c.Denied {
		was.Count, was.At = was.Count+1, d.time()
		rest = append(rest, was)
	}
	if len(rest) > 0 {
		d.st.Power.Denied = rest[max(0, len(rest)-maxDenied):]
	}
}

// maxDenied bounds the list: a node has no more levels and isolation devices.
const maxDenied = 8

// passOver goes on without a device of the isolation that refuses the account.
func (d *decision) passOver(i int) {
	r := d.record(i)
	r.GaveUp, r.LastError = true, cmp.Or(r.LastError, refusedOften)
	d.tell(api.IsolationFailed, r.Words()+": "+r.LastError+"; going on without it")
}
