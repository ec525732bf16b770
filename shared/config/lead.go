package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodefence/nodefence/shared/device"
)

// maxLead is longer than any known device reads off before its machine is off.
const maxLead = 5 * time.Minute

// lead is how long a device may read off before the machine is off: the driver declares a
// value, or the method gives one for this device (settle=). Only devices for power have a
// lead.
func lead(m *method, k device.Kind) (*metav1.Duration, error) {
	e, given := m.values["settle"]
	if k.Scope != device.ScopePower {
		if given {
			return nil, e.at.errorf("settle= is for devices that switch power, and agent %s does not", k.Name)
		}
		return nil, nil
	}
	d := k.ReadsEarly()
	if given {
		var err error
		if d, err = time.ParseDuration(e.value); err != nil {
			return nil, e.at.errorf("settle= takes a duration, such as 5s: how long the device may read off before the machine is off")
		}
		if d < 0 || d > maxLead {
			return nil, e.at.errorf("settle=%s is not between 0s and %s", e.value, maxLead)
		}
	}
	return said(d), nil
}

// said returns a lead for a binding, which leaves the default out.
func said(d time.Duration) *metav1.Duration {
	if d == device.DefaultLead {
		return nil
	}
	return &metav1.Duration{Duration: d}
}

// leadOf returns the lead of a binding.
func leadOf(d *metav1.Duration) time.Duration {
	if d == nil {
		return device.DefaultLead
	}
	return d.Duration
}
