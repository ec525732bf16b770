package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

// SetDriver is the driver of a machine with several devices, all of which must be off.
const SetDriver = "set"

// maxMembers is more power supplies than machines have.
const maxMembers = 8

// joined is a device, with all methods of a plan that call it.
type joined struct {
	*bound
	methods []*bound
}

func (j joined) does(off bool) string {
	for _, b := range j.methods {
		if off && b.off || !off && b.on {
			return b.method
		}
	}
	return ""
}

// join makes one device of those that the methods call: the device itself if there is only
// one, else the set of those that are switched off.
func join(from source, all []*bound) (*bound, error) {
	devices, err := distinct(from, all)
	if err != nil {
		return nil, err
	}
	if len(devices) == 1 {
		return devices[0].bound, nil
	}
	shareName(devices)
	if err := agreed(from, devices); err != nil {
		return nil, err
	}
	return together(devices), nil
}

// distinct groups the methods by device. Methods of one device must use it in one way, and
// only one of them may switch it off: two such methods were meant for two outlets, and one
// of them has the wrong number.
func distinct(from source, all []*bound) ([]joined, error) {
	var out []joined
	for _, b := range all {
		i := slices.IndexFunc(out, func(j joined) bool { return j.Address == b.Address })
		if i < 0 {
			out = append(out, joined{b, []*bound{b}})
			continue
		}
		if o := out[i]; o.Driver != b.Driver {
			return nil, from.at().errorf("methods %s and %s use the same device, %s, with different drivers, %s and %s; that can be read in two ways: choose one",
				o.method, b.method, b.Address, o.Driver, b.Driver)
		}
		if err := alike(from, out[i].bound, b); err != nil {
			return nil, err
		}
		if off := out[i].does(true); b.off && off != "" && off != b.method {
			return nil, from.at().errorf("methods %s and %s switch off the same outlet, %s %s; a set has each of a machine's outlets once: correct one of them, or leave it out",
				off, b.method, b.Driver, b.Address)
		}
		out[i].Lead = said(max(leadOf(out[i].Lead), leadOf(b.Lead)))
		out[i].methods = append(out[i].methods, b)
	}
	return out, nil
}

// alike checks that two methods of one device use the same parameters.
func alike(from source, first, b *bound) error {
	for _, p := range slices.Sorted(maps.Keys(first.values)) {
		if b.values[p] != first.values[p] {
			return from.at().errorf("methods %s and %s give different values of %s for one device", first.method, b.method, p)
		}
	}
	if len(b.values) != len(first.values) {
		return from.at().errorf("methods %s and %s give different parameters for one device", first.method, b.method)
	}
	return nil
}

// shareName gives the identity that a method names to the other devices of the set that tell
// a system UUID, or nothing.
func shareName(devices []joined) {
	i := slices.IndexFunc(devices, func(j joined) bool { return j.named })
	if i < 0 {
		return
	}
	for _, j := range devices {
		if j.bySystem && !j.named {
			j.Identity, j.IdentityFault = devices[i].Identity, ""
		}
	}
}

// agreed refuses devices that are no set. A device that is only read, or only switched on,
// may be another machine's. If only some are switched on again, the configuration does not
// say whether the machine is to be on.
func agreed(from source, devices []joined) error {
	first, on := devices[0], 0
	for _, j := range devices {
		switch {
		case j.does(true) == "":
			return from.at().errorf("method %s speaks with a device that no method switches off, %s %s; all devices of a set must be switched off",
				j.method, j.Driver, j.Address)
		case j.Identity != first.Identity:
			return from.at().errorf("methods %s and %s have devices that identify a machine in different ways, %s %s and %s %s; they can't form a set",
				first.method, j.method, first.Driver, first.Address, j.Driver, j.Address)
		}
		if j.does(false) != "" {
			on++
		}
	}
	for _, j := range devices {
		if on > 0 && j.does(false) == "" {
			return from.at().errorf("method %s switches off %s %s, and no method switches it on again, while others are switched on; name a method for each, or for none",
				j.does(true), j.Driver, j.Address)
		}
	}
	if len(devices) > maxMembers {
		return from.at().errorf("%d devices are switched off; a set has at most %d", len(devices), maxMembers)
	}
	return nil
}

// together is the set, in the order in which its members are named.
func together(devices []joined) *bound {
	b := &bound{method: devices[0].method, origins: map[string]string{}}
	b.Driver, b.Identity, b.IdentityFault = SetDriver, devices[0].Identity, devices[0].IdentityFault
	var addresses []string
	var lead time.Duration
	for i, j := range devices {
		b.Members = append(b.Members, api.SetMember{Driver: j.Driver, Address: j.Address, Params: j.Params, SecretRefs: j.SecretRefs, Identity: j.Identity})
		b.EffectDelay = metav1.Duration{Duration: max(b.EffectDelay.Duration, j.EffectDelay.Duration)}
		lead = max(lead, leadOf(j.Lead)) // the set is off when its last member is off
		addresses = append(addresses, j.Address)
		for name, at := range j.origins {
			b.origins[strconv.Itoa(i+1)+"."+name] = at
		}
	}
	b.Address, b.Lead = strings.Join(addresses, " and "), said(lead)
	return b
}

// Addresses returns the addresses of all devices of a binding.
func Addresses(b api.Binding) []string {
	if len(b.Members) == 0 {
		return []string{b.Address}
	}
	var out []string
	for _, m := range b.Members {
		out = append(out, m.Address)
	}
	return out
}
