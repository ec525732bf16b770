package checks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Networks are the networks that nodes are in. A check connects to no address outside of them: a Node's
// addresses are written with the node's credentials, and nodefence, or a Job on another node, would connect to
// any address written there. Without Networks a check connects to every address except loopback, link-local
// (such as a cloud's metadata server), multicast and broadcast addresses.
type Networks []netip.Prefix

// Decode reads CIDRs, separated by commas, from an environment variable.
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

// refusal says why a check may not connect to an address that a Node reports; empty if it may.
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
