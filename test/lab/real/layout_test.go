package real

import (
	"fmt"
	"net"
	"testing"
)

// maxInterface is the longest name that an interface of Linux may have.
const maxInterface = 15

func TestLayoutsOfOtherFoldersShareNothing(t *testing.T) {
	_, services, _ := net.ParseCIDR("10.96.0.0/16")
	_, all, _ := net.ParseCIDR("10.64.0.0/11")
	_, podsOfAll, _ := net.ParseCIDR(PodNetwork)
	seen := map[string]string{}
	for i := range 50 {
		folder := fmt.Sprintf("/tmp/nodefence-lab-0/lab-%d", i)
		l := NewLayout(folder)
		if again := NewLayout(folder); again != l {
			t.Errorf("%s has the layouts %v and %v", folder, l, again)
		}
		if len(l.uplinkName()) > maxInterface || len(NodeName(MaxNodes-1)) > maxInterface {
			t.Errorf("names of interfaces are too long: %s", l.uplinkName())
		}
		for _, name := range []string{l.ID, l.uplinkName()} {
			if other := seen[name]; other != "" {
				t.Errorf("%s is of %s and of %s", name, other, folder)
			}
			seen[name] = folder
		}
		if !all.Contains(l.ControlPlane()) || services.Contains(l.ControlPlane()) || podsOfAll.Contains(l.ControlPlane()) {
			t.Errorf("network %s is that of Services or pods", l.Network())
		}
	}
}

func TestAddressesOfALayout(t *testing.T) {
	l := NewLayout("/tmp/lab")
	seen := map[string]bool{}
	addresses := []net.IP{l.ControlPlane(), l.uplink()}
	for i := range MaxNodes {
		addresses = append(addresses, l.Node(i), l.BMC(i))
	}
	for _, a := range addresses {
		if seen[a.String()] || !l.Network().Contains(a) {
			t.Errorf("%s is used twice, or not in %s", a, l.Network())
		}
		seen[a.String()] = true
	}
}
