package config

import (
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// Apart reports whether Resolve, Duplicates and Alike say the same of a node whatever other
// nodes are enrolled as, as long as these three stay the same: all ConfigMaps that are no
// enrolments; which enrolments may be of one machine, and what those say; and whether any
// other node is enrolled with a provider ID. If it reports false, they may still say the
// same (S11: the device is the node's own).
func (c *Configs) Apart(n Node, mine ...api.Binding) bool {
	if c.twice != nil {
		return false
	}
	base := c.resolver(n)
	instances := slices.ContainsFunc(c.enrolled, func(o Node) bool { return o.Name != n.Name && o.ProviderID != "" })
	for _, b := range mine {
		if instances && slices.ContainsFunc(members(b), func(m api.SetMember) bool { return !base.asEnrolled(m) }) {
			return false
		}
	}
	read := sourceNames(mine)
	for i, is := range c.claims() {
		switch {
		case is.node == n.Name:
		case slices.Contains(read, is.cm):
			return false // what it is depends on whether a node of that name is enrolled
		case instances && mayMeet(c.clouds()[i], mine):
			return false
		}
	}
	return true
}

// asEnrolled reports whether a device is no cloud's instance, or the one that this node was
// enrolled as: another node with that instance has an enrolment of the same machine.
func (r *resolver) asEnrolled(m api.SetMember) bool {
	k := r.s.Kinds[m.Driver]
	if k.Cloud == nil {
		return true
	}
	enrolled := r.enrolled(k)
	return enrolled != nil && !slices.ContainsFunc(k.Params, func(p device.Param) bool {
		return p.Machine && m.Params[p.Name] != enrolled[p.Name]
	})
}

// cloudDevices are those of each claim.
func (c *Configs) cloudDevices() [][]cloudDevice {
	all := make([][]cloudDevice, len(c.claims()))
	for i, is := range c.claims() {
		r := c.resolver(Node{Name: is.node})
		for _, name := range is.names {
			m, err := r.method(name, is.config, place{})
			if m == nil || err != nil {
				continue
			}
			k, builtin, err := r.kind(m)
			if err != nil || builtin != "" || k.Cloud == nil {
				continue
			}
			d := cloudDevice{driver: k.Name}
			for word := range m.values {
				p, ok := r.param(k, word)
				d.names = d.names || ok && p.Machine
			}
			all[i] = append(all[i], d)
		}
	}
	return all
}

// mayMeet reports whether another node's methods may come to one of these devices by an
// enrolment that is of no machine of this node. An address of a driver of a cloud begins
// with the driver's name. If a method names no part of its machine, the machine is that of
// the other node's enrolment.
func mayMeet(theirs []cloudDevice, mine []api.Binding) bool {
	for _, k := range theirs {
		for _, b := range mine {
			for _, d := range members(b) {
				if d.Driver == k.driver && k.names || d.Driver != k.driver && strings.HasPrefix(d.Address, k.driver+":") {
					return true
				}
			}
		}
	}
	return false
}
