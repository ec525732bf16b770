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
func Apart(all []ConfigMap, enrolled []Node, s Settings, n Node, mine ...api.Binding) bool {
	base, err := newResolver(all, n, s)
	if err != nil {
		return false
	}
	instances := slices.ContainsFunc(enrolled, func(o Node) bool { return o.ProviderID != "" })
	var read []string
	for _, b := range mine {
		for _, src := range b.Sources {
			read = append(read, src.Name)
		}
		if instances && slices.ContainsFunc(members(b), func(m api.SetMember) bool { return !base.asEnrolled(m) }) {
			return false
		}
	}
	for _, c := range base.claims() {
		switch {
		case c.node == n.Name:
		case slices.Contains(read, c.cm):
			return false // what it is depends on whether a node of that name is enrolled
		case instances && base.mayMeet(c, mine):
			return false
		}
	}
	return true
}

// members are the devices of a binding, itself if it is no set.
func members(b api.Binding) []api.SetMember {
	if len(b.Members) > 0 {
		return b.Members
	}
	return []api.SetMember{{Driver: b.Driver, Address: b.Address, Params: b.Params, Identity: b.Identity}}
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

// mayMeet reports whether another node's methods may come to one of these devices by an
// enrolment that is of no machine of this node. An address of a driver of a cloud begins
// with the driver's name. If a method names no part of its machine, the machine is that of
// the other node's enrolment.
func (r *resolver) mayMeet(c claim, mine []api.Binding) bool {
	other := &resolver{maps: r.maps, node: Node{Name: c.node}, s: r.s}
	for _, name := range c.names {
		m, err := other.method(name, c.config, place{})
		if m == nil || err != nil {
			continue
		}
		k, builtin, err := other.kind(m)
		if err != nil || builtin != "" || k.Cloud == nil {
			continue
		}
		names := false
		for word := range m.values {
			p, ok := other.param(k, word)
			names = names || ok && p.Machine
		}
		for _, b := range mine {
			for _, d := range members(b) {
				if d.Driver == k.Name && names || d.Driver != k.Name && strings.HasPrefix(d.Address, k.Name+":") {
					return true
				}
			}
		}
	}
	return false
}
