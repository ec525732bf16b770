package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long one call to a device may take is set for the whole installation
// (NODEFENCE_DEVICE_CALL_TIMEOUT). The gate records it in each fence that it opens, and in each
// slot that it reserves. Everything that must outlast a call follows from what is recorded, and
// is longer by LongerCalls: a yes of the gate, the slot behind it, a proof, the claim of the
// call, and the invocation that makes it. So two processes that are set differently agree on
// each fence.
const (
	// DeviceCall is the longest that one call to a device takes, unless nodefence is set
	// otherwise.
	DeviceCall = 20 * time.Second
	// LongestDeviceCall is the longest that it may be set to. A proof is as old as its last
	// read, which is dated from before the call: with longer calls work would be released on
	// what was true minutes ago.
	LongestDeviceCall = 2 * time.Minute
	// BesideDeviceCall is what a platform must give one invocation beside its one call to a
	// device: to read what it decides on, and to save and send what has come of it.
	BesideDeviceCall = 40 * time.Second
)

// LongerCalls is by how much calls that take so long at most outlast the usual ones; never less
// than nothing.
func LongerCalls(limit time.Duration) time.Duration { return max(0, limit-DeviceCall) }

// CallLimit is the longest that one call to a device takes in this fence. A record that does not
// say, or says none at all, is of the usual ones; one that says more than may be set, of the longest.
func (d *Decision) CallLimit() time.Duration {
	if limit := d.DeviceCallTimeout.Duration; limit > 0 {
		return min(limit, LongestDeviceCall)
	}
	return DeviceCall
}

// LongerCall is what a slot says of this fence's calls; nil where they are the usual ones.
func (d *Decision) LongerCall() *metav1.Duration {
	if limit := d.CallLimit(); limit > DeviceCall {
		return &metav1.Duration{Duration: limit}
	}
	return nil
}

// CallLimit is the longest call to a device for which the slot was reserved, as of a Decision.
func (r *Reservation) CallLimit() time.Duration {
	if r.DeviceCallTimeout == nil || r.DeviceCallTimeout.Duration <= 0 {
		return DeviceCall
	}
	return min(r.DeviceCallTimeout.Duration, LongestDeviceCall)
}
