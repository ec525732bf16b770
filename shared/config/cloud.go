package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nodefence/nodefence/shared/clip"
	"github.com/nodefence/nodefence/shared/device"
)

const noCloud = "this build has no driver for a cloud"

// cloud returns the driver that switches the node's instance, or why there is none.
func (r *resolver) cloud() (device.Kind, string) { return r.knows(false) }

// knows returns the driver that knows the node's instance, to switch it or to end it for
// good, or why there is none.
func (r *resolver) knows(end bool) (device.Kind, string) {
	var known []string
	for _, name := range slices.Sorted(maps.Keys(r.s.Kinds)) {
		k := r.s.Kinds[name]
		if k.Scope != device.ScopePower || (k.NoOn != "") != end {
			continue // a driver that can't switch on cannot restart the instance
		}
		if r.enrolled(k) != nil {
			return k, ""
		}
		if k.Cloud != nil {
			known = append(known, name)
		}
	}
	switch {
	case len(known) == 0:
		return device.Kind{}, noCloud
	case r.node.ProviderID == "":
		return device.Kind{}, "no provider ID was enrolled for node " + r.node.Name + " while it was healthy"
	}
	return device.Kind{}, "provider ID " + quoted(r.node.ProviderID) + ", with which node " + r.node.Name +
		" was enrolled, is no instance of a cloud that this build knows (" + strings.Join(known, ", ") + ")"
}

// enrolled returns the parameters that a driver reads from the node's provider ID; nil if
// the ID is not for this driver.
func (r *resolver) enrolled(k device.Kind) map[string]string {
	if k.Cloud == nil {
		return nil
	}
	p, ok := k.Cloud(r.node.ProviderID)
	if !ok {
		return nil
	}
	return p
}

// agree checks a ConfigMap against the enrolment: if they differ, one of them names another
// node's machine (S11: the device is the node's own).
func (r *resolver) agree(b *bound, m *method, k device.Kind, enrolled map[string]string) error {
	if enrolled == nil {
		return nil
	}
	if r.node.Enrolment.Name != "" {
		r.from(r.node.Enrolment)
	}
	p := maps.Clone(b.Params)
	maps.Copy(p, enrolled)
	if a, err := k.Address(p); err == nil && a != b.Address {
		return m.at.errorf("%s is not the machine that node %s was enrolled as, %s; leave the enrolled parameters out, or mend them", b.Address, r.node.Name, a)
	}
	return nil
}

// addressed tells whether a provider ID's parameters lead to this address: not every cloud's
// ID has the name by which the instance tells who it is.
func addressed(k device.Kind, enrolled map[string]string, address string) bool {
	if enrolled == nil || k.Address == nil {
		return false
	}
	is, err := k.Address(enrolled)
	return err == nil && is == address
}

// quoted shortens and quotes a text that somebody else wrote.
func quoted(s string) string { return strconv.Quote(clip.To(80, s)) }
