package checks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Networks are those that nodes are in: a check connects to no address of a Node
// elsewhere. Whoever has a node's credentials writes the Node's addresses, and would
// have nodefence, or a Job on another node, connect for him. Unless any are given it is
// every address but a machine's own, the link's (a cloud's metadata server) and those of
// groups.
type Networks []netip.Prefix

// Decode reads them from the environment: CIDRs, divided by commas.
func (n *Networks) Decode(value string) error {
	for s := range strings.SplitSeq(value, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return fmt.Errorf("%q is not a network such as 10.0.0.0/16: %w", s, err)
		}
		*n = append(*n, p.Masked())
	}
	return nil
}

// refusal is why a check may not connect to an address that a Node reports; empty if it may.
func (n Networks) refusal(address string) string {
	a, err := netip.ParseAddr(address)
	switch {
	case err != nil || a.Zone() != "":
		return fmt.Sprintf("the Node reports %.80q as its InternalIP, which is no IP address", address)
	case len(n) > 0:
		if !slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) }) {
			return fmt.Sprintf("the Node reports the address %s, which is in none of the nodes' networks (NODEFENCE_NODE_NETWORKS)", a)
		}
	case a.Unmap().IsLoopback() || a.Unmap().IsLinkLocalUnicast() || a.Unmap().IsMulticast() || a.Unmap().IsUnspecified() || a.Unmap() == broadcast:
		return fmt.Sprintf("the Node reports the address %s, to which no check connects unless NODEFENCE_NODE_NETWORKS has its network", a)
	}
	return ""
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
