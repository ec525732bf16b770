package real

import (
	"fmt"
	"hash/fnv"
	"net"
	"path/filepath"
)

// MaxNodes is how many machines the addresses of a Layout are for.
const MaxNodes = 50

// Layout has the names of a lab's network namespaces, cgroups and interface, and the addresses of the lab's network.
type Layout struct {
	// ID is the name of the lab's cgroup and of the network namespace with its switch, and the beginning of the
	// names of the machines' network namespaces.
	ID string

	sum uint32
}

// NewLayout returns the layout of the lab in this folder.
func NewLayout(folder string) Layout {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(folder)) // never fails
	sum := hash.Sum32()
	return Layout{ID: fmt.Sprintf("nflab-%08x", sum), sum: sum}
}

// address is that of one host in the lab's network, which is between 10.64.0.0/24 and 10.95.255.0/24: neither
// Services (10.96.0.0/16) nor pods (10.244.0.0/16).
func (l Layout) address(host byte) net.IP {
	return net.IPv4(10, 64+byte(l.sum>>8)%32, byte(l.sum), host).To4()
}

// Network is the network of the machines, the control plane and the BMCs.
func (l Layout) Network() *net.IPNet {
	return &net.IPNet{IP: l.address(0), Mask: net.CIDRMask(24, 32)}
}

// ControlPlane is the address of the API server.
func (l Layout) ControlPlane() net.IP { return l.address(1) }

// Node is the address of a machine.
func (l Layout) Node(index int) net.IP { return l.address(10 + byte(index)) }

// BMC is the address of a machine's BMC.
func (l Layout) BMC(index int) net.IP { return l.address(100 + byte(index)) }

// uplink is this machine's address in the lab's network.
func (l Layout) uplink() net.IP { return l.address(254) }

// uplinkName is this machine's interface in the lab's network, in at most 15 letters.
func (l Layout) uplinkName() string { return fmt.Sprintf("nf%08x", l.sum) }

// PodNetwork has the pods of all machines.
const PodNetwork = "10.244.0.0/16"

// podNetwork is the part of PodNetwork on one machine.
func podNetwork(index int) string { return fmt.Sprintf("10.244.%d.0/24", index) }

// NodeName is the name of a machine.
func NodeName(index int) string { return fmt.Sprintf("node-%d", index) }

// machineNetns is the network namespace of a machine.
func (l Layout) machineNetns(node string) string { return l.ID + "-" + node }

// netnsFolder is where iproute2 keeps network namespaces.
const netnsFolder = "/run/netns"

func netnsFile(name string) string { return filepath.Join(netnsFolder, name) }

// InSwitch is a command line by which a program runs in the network namespace of the switch, without any other
// process in between.
func (l Layout) InSwitch(program string, args ...string) (path string, all []string) {
	return findProgram("nsenter"), append([]string{"--net=" + netnsFile(l.ID), program}, args...)
}
