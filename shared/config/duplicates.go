package config

import (
	"maps"
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
	"github.com/nodefence/nodefence/shared/device"
)

// claim is another node's configuration for a machine.
type claim struct {
	node string
	// config names the methods; cm is about that node.
	config source
	cm     string
	names  []string
}

// Duplicates refuses a device that another node has too: one of the two configurations is
// wrong, and nothing here says which (S11: the device is the node's own). The other node's
// configuration counts as far as it can be read, even if that node is refused for another
// fault.
func (c *Configs) Duplicates(n Node, mine ...api.Binding) error {
	if c.twice != nil {
		return c.twice
	}
	read := sourceNames(mine)
	var devices []string
	for _, b := range mine {
		devices = append(devices, c.s.each(b)...)
		devices = append(devices, c.s.identities(b)...)
	}
	for _, i := range c.claimants(devices) {
		is := c.claims()[i]
		_, enrolled := c.enrolmentOf[is.node]
		r := c.enrolledAs(is.node)
		if is.node == n.Name || slices.Contains(read, is.cm) && (named(read, n.Name) && !enrolled || !r.whole(is)) {
			continue
		}
		for _, a := range r.addresses(is) {
			if machine, ok := strings.CutPrefix(a, identityMark); ok && slices.Contains(devices, a) {
				return &Error{ConfigMap: is.cm, Msg: "node " + is.node + " has an identity= that is the machine of node " + n.Name + " too (" + machine +
					"); neither of them is fenced before one is mended"}
			}
			if slices.Contains(devices, a) {
				return &Error{ConfigMap: is.cm, Msg: "node " + is.node + " has the same device address " + a + " as node " + n.Name +
					"; neither of them is fenced before one is mended"}
			}
		}
	}
	return nil
}

// named: the plan comes from the node's own ConfigMap. Its methods are meant for this node,
// unless the other reading of a name is an existing node.
func named(read []string, node string) bool {
	return len(read) > 0 && (read[0] == nodePrefix+node || read[0] == configPrefix+node)
}

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

// Named returns the identities that a node's methods give with identity=, unless the node was
// enrolled as that machine alone.
func (c *Configs) Named(n Node, mine ...api.Binding) (out []string) {
	for _, b := range mine {
		for _, m := range members(b) {
			enrolled := m.Identity == n.Identity && b.IdentityFault == n.IdentityFault
			if m.Identity != "" && !enrolled && c.s.Kinds[m.Driver].Identity == "" {
				out = append(out, m.Identity)
			}
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
