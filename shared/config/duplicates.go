package config

import (
	"slices"
	"strings"

	api "github.com/nodefence/nodefence/shared/api/v1alpha1"
)

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
