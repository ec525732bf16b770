package fence

import (
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A device may lock the account of who comes with a wrong password too often. After this
// many refusals in a row it is asked again only so often, over all tries, restarts and
// fences of the node; a person's retry is asked for at once.
const (
	deniedTries = 3
	deniedPause = 5 * time.Minute
)

// noteDenied counts how often the device has refused us in a row.
func (d *decision) noteDenied(c *CallResult) {
	b := d.binding()
	if b == nil {
		return
	}
	was := api.Denied{Device: b.Driver + " " + b.Address}
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

// maxDenied bounds the list: a node has no more levels.
const maxDenied = 8

// lockout is until when the device is left alone; false if it need not be.
func (d *decision) lockout() (time.Time, bool) {
	b := d.binding()
	if b == nil {
		return time.Time{}, false
	}
	for _, r := range d.st.Power.Denied {
		if retry := d.spec.Requests.Retry; retry != nil && retry.At.After(r.At.Time) {
			continue // who asks for it has mended something
		}
		if until := r.At.Add(deniedPause); r.Device == b.Driver+" "+b.Address && r.Count >= deniedTries && d.now.Before(until) {
			return until, true
		}
	}
	return time.Time{}, false
}

// holdDenied waits without a slot.
func (d *decision) holdDenied() bool {
	until, ok := d.lockout()
	if ok {
		d.hold(api.DeviceDenied, fmt.Sprintf("the device refused the account %d times: asked again after %s, so that the account is not locked, or at once with a retry (spec.requests.retry); %s",
			deniedTries, until.UTC().Format(time.RFC3339), d.st.Power.LastError), 0)
		d.awaken(until)
	}
	return ok
}
