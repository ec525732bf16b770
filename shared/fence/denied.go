package fence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// A device may lock the account of who comes with a wrong password too often. After this
// many refusals in a row it is asked again only so often, over all tries, restarts and
// fences of the node; a person's retry is asked for at once. One rule holds for the machine's
// own devices and for those of the isolation.
const (
	deniedTries = 3
	deniedPause = 5 * time.Minute
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

// lockout is until when the machine's own device is left alone; false if it need not be.
func (d *decision) lockout() (time.Time, bool) { return d.lockedOut(d.binding()) }

func (d *decision) lockedOut(b *api.Binding) (time.Time, bool) {
	if b == nil {
		return time.Time{}, false
	}
	for _, r := range d.st.Power.Denied {
		if retry := d.st.Answer(api.AskedRetry); d.retryAsked() || retry != nil && retry.AnsweredAt.After(r.At.Time) {
			continue // who asks for it has mended something
		}
		if until := r.At.Add(deniedPause); r.Device == b.Words() && r.Count >= deniedTries && d.now.Before(until) {
			return until, true
		}
	}
	return time.Time{}, false
}

// holdDenied waits for the machine's own device, without a slot.
func (d *decision) holdDenied() outcome {
	until, locked := d.lockout()
	if !locked {
		return goOn
	}
	d.holdLocked("", until, d.st.Power.LastError)
	return settled
}

// holdRefused waits without a slot for each device that this fence can't do without.
func (d *decision) holdRefused() outcome {
	if !d.dec.Settings.Action.Device() {
		return goOn
	}
	for i := range d.dec.Isolation() {
		b := &d.dec.Isolation()[i]
		if until, ok := d.lockedOut(b); ok && b.Must && !(d.record(i) != nil && d.cutDone(i)) {
			d.isolationRecords()
			d.holdLocked(taken(*b)+": ", until, d.record(i).LastError)
			return settled
		}
	}
	return d.holdDenied()
}

func (d *decision) holdLocked(which string, until time.Time, last string) {
	if last != "" {
		last = "; " + last
	}
	d.stay(api.DeviceDenied, fmt.Sprintf("%s%s: asked again after %s, so that the account is not locked, or at once with a retry (spec.requests.retry)%s",
		which, refusedOften, until.UTC().Format(time.RFC3339), last), 0)
	d.wakeAt(until)
}

// dispensable: a device of the isolation refuses the account, and need not be cut. Where
// it must be, the fence waits for it.
func (d *decision) dispensable(i int) bool {
	b := d.dec.Isolation()[i]
	_, locked := d.lockedOut(&b)
	return locked && !b.Must
}

// passOver goes on without a device of the isolation that refuses the account.
func (d *decision) passOver(i int) {
	r := d.record(i)
	r.GaveUp, r.LastError = true, cmp.Or(r.LastError, refusedOften)
	d.tell(api.IsolationFailed, r.Words()+": "+r.LastError+"; going on without it")
}
