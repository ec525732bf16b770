package config

import (
	"maps"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// claims returns all nodes that the ConfigMaps name, ordered by name.
func (r *resolver) claims() []claim {
	var own, shared []claim
	for _, name := range slices.Sorted(maps.Keys(r.maps)) {
		if !strings.HasPrefix(name, configPrefix) {
			continue
		}
		m := r.maps[name]
		lines, err := parse(place{}, m.Data[configKey], norm)
		if err != nil {
			lines = nil
		}
		node := owner(name, lines["node_name"].value)
		c := claim{node: node, cm: name, config: source{cm: m, own: node != "", lines: lines}, names: methods(m, lines)}
		if node != "" {
			own = append(own, c)
		} else {
			shared = append(shared, c)
		}
	}
	return append(own, r.perNode(shared)...)
}

// owner returns the node of a ConfigMap; empty if the ConfigMap is about many.
func owner(cm, named string) string {
	if named != "" && (cm == nodePrefix+named || cm == configPrefix+named) {
		return named
	}
	if x, ok := strings.CutPrefix(cm, nodePrefix); ok {
		return x
	}
	if strings.HasPrefix(cm, typePrefix) || cm == defaultConfig {
		return ""
	}
	return strings.TrimPrefix(cm, configPrefix)
}

// methods returns the methods that a ConfigMap names or holds.
func methods(m ConfigMap, lines map[string]entry) []string {
	var out []string
	for _, k := range append([]string{isolation, power, recovery}, levels...) {
		out = append(out, strings.Fields(lines[k].value)...)
	}
	for k := range m.Data {
		if x, ok := strings.CutPrefix(k, methodPrefix); ok {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// perNode finds the nodes that have methods of their own for a type's or the default
// configuration.
func (r *resolver) perNode(shared []claim) []claim {
	var out []claim
	names := slices.Sorted(maps.Keys(r.maps))
	for _, c := range shared {
		for _, method := range c.names {
			prefix := methodPrefix + strings.ReplaceAll(method, "_", "-") + "-"
			for _, cm := range names {
				if node, ok := strings.CutPrefix(cm, prefix); ok && node != "" {
					out = append(out, claim{node: node, cm: cm, config: c.config, names: []string{method}})
				}
			}
		}
	}
	return out
}

// whole reports whether a node's plan is complete. A ConfigMap that node 7 reads for its
// method ipmi-on, fence-method-ipmi-on-7, looks like method ipmi of a node on-7. That node
// exists only if the rest of its plan exists.
func (r *resolver) whole(c claim) bool {
	_, err := r.plan(c.config)
	return err == nil
}

// addresses returns the addresses of a node's methods that can be read.
func (r *resolver) addresses(c claim) []string {
	var out []string
	for _, name := range c.names {
		m, err := r.method(name, c.config, place{})
		if m == nil || err != nil {
			continue
		}
		k, b, err := r.kind(m)
		if err != nil || b != "" {
			continue
		}
		if b, _ := r.bind(m, k); b != nil {
			out = append(out, r.s.each(b.Binding)...)
			if b.named {
				out = append(out, identityMark+device.MachineKey(b.Identity))
			}
		}
	}
	return out
}

// identityMark begins what stands for an identity among the addresses of devices.
const identityMark = "identity "

// identities returns the machines that the devices of a binding must answer for, if the
// devices tell a system UUID. An address has no such beginning.
func (s Settings) identities(b api.Binding) (out []string) {
	for _, m := range members(b) {
		if m.Identity != "" && s.Kinds[m.Driver].Identity == "" {
			out = append(out, identityMark+device.MachineKey(m.Identity))
		}
	}
	return out
}

// each returns everything in a binding that no other node may have.
func (s Settings) each(b api.Binding) []string {
	members := b.Members
	if len(members) == 0 {
		members = []api.SetMember{{Driver: b.Driver, Address: b.Address}}
	}
	var out []string
	for _, m := range members {
		if k := s.Kinds[m.Driver]; k.Each != nil {
			out = append(out, k.Each(m.Address)...)
			continue
		}
		out = append(out, m.Address)
	}
	return out
}

// members are the devices of a binding, itself if it is no set.
func members(b api.Binding) []api.SetMember {
	if len(b.Members) > 0 {
		return b.Members
	}
	return []api.SetMember{{Driver: b.Driver, Address: b.Address, Params: b.Params, Identity: b.Identity}}
}
