package real

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MakeSwitch makes the network of a lab: a network namespace with a bridge, in which the control plane and the BMCs
// have their addresses, and an interface by which this machine is in that network.
func MakeSwitch(ctx context.Context, l Layout, nodes int) error {
	if err := checkAddresses(l); err != nil {
		return err
	}
	if err := runProgram(ctx, "", "ip", "netns", "add", l.ID); err != nil {
		return err
	}
	inside := []string{
		// With an address of its own: else a bridge takes that of a port, and is lost to its neighbours when a machine is
		// switched off.
		"link set lo up", "link add br0 address 02:6e:66:00:00:01 type bridge", "link set br0 up",
		fmt.Sprintf("addr add %s/24 dev br0", l.ControlPlane()),
	}
	for i := range nodes {
		inside = append(inside, fmt.Sprintf("addr add %s/32 dev br0", l.BMC(i)), fmt.Sprintf("route add %s via %s", podNetwork(i), l.Node(i)))
	}
	if err := configureLinks(ctx, l.ID, inside...); err != nil {
		return err
	}
	outside := []string{
		fmt.Sprintf("link add %s type veth peer name uplink netns %s", l.uplinkName(), l.ID),
		fmt.Sprintf("addr add %s/24 dev %s", l.uplink(), l.uplinkName()), "link set " + l.uplinkName() + " up",
	}
	if err := runProgram(ctx, strings.Join(outside, "\n"), "ip", "-batch", "-"); err != nil {
		return err
	}
	return configureLinks(ctx, l.ID, "link set uplink master br0 up")
}

// checkAddresses refuses a network in which this machine already has an address.
func checkAddresses(l Layout) error {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("read addresses: %w", err)
	}
	for _, a := range all {
		if other, is := a.(*net.IPNet); is && (other.Contains(l.ControlPlane()) || l.Network().Contains(other.IP)) {
			return fmt.Errorf("the lab's network %s is that of this machine's address %s: use another name for the lab", l.Network(), other)
		}
	}
	return nil
}

// configureLinks runs lines of iproute2 in a network namespace.
func configureLinks(ctx context.Context, netns string, lines ...string) error {
	return runProgram(ctx, strings.Join(lines, "\n"), "ip", "-n", netns, "-batch", "-")
}

// plugIn gives a machine a network namespace, with a cable to the switch.
func plugIn(ctx context.Context, l Layout, node string, index, nodes int) error {
	netns := l.machineNetns(node)
	if err := runProgram(ctx, "", "ip", "netns", "add", netns); err != nil {
		return err
	}
	if err := configureLinks(ctx, l.ID, fmt.Sprintf("link add %s type veth peer name eth0 netns %s", node, netns), "link set "+node+" master br0 up"); err != nil {
		return err
	}
	lines := []string{
		"link set lo up", fmt.Sprintf("addr add %s/24 dev eth0", l.Node(index)), "link set eth0 up",
		fmt.Sprintf("route add default via %s", l.ControlPlane()),
	}
	for other := range nodes {
		if other != index {
			lines = append(lines, fmt.Sprintf("route add %s via %s", podNetwork(other), l.Node(other)))
		}
	}
	return configureLinks(ctx, netns, lines...)
}

// plugOut removes the cable and the namespace of plugIn. The kernel removes a cable some time after its namespace: until
// then the name is taken.
func plugOut(ctx context.Context, l Layout, node string) error {
	return errors.Join(configureLinks(ctx, l.ID, "link del "+node), deleteNetns(ctx, l.machineNetns(node)))
}

func deleteNetns(ctx context.Context, name string) error {
	if _, err := os.Stat(netnsFile(name)); err != nil {
		return nil
	}
	return runProgram(ctx, "", "ip", "netns", "del", name)
}

// setCable connects a machine's port of the switch, or disconnects it.
func setCable(ctx context.Context, l Layout, node string, connected bool) error {
	state := "down"
	if connected {
		state = "up"
	}
	return configureLinks(ctx, l.ID, "link set "+node+" "+state)
}

// removeNetworks deletes all network namespaces of a lab, and this machine's interface.
func removeNetworks(ctx context.Context, l Layout) error {
	all, err := filepath.Glob(netnsFile(l.ID + "*"))
	if err != nil {
		return err
	}
	for _, file := range all {
		if err := deleteNetns(ctx, filepath.Base(file)); err != nil {
			return err
		}
	}
	if _, err := net.InterfaceByName(l.uplinkName()); err == nil {
		if err := runProgram(ctx, "", "ip", "link", "del", l.uplinkName()); err != nil {
			return err
		}
	}
	return unmountNetns()
}

// unmountNetns removes the mount that iproute2 makes for its first network namespace, if no namespace is left. The
// kernel refuses if somebody makes a namespace in the meantime.
func unmountNetns() error {
	left, err := os.ReadDir(netnsFolder)
	if err != nil || len(left) > 0 {
		return ignoreError(err, os.ErrNotExist)
	}
	err = syscall.Unmount(netnsFolder, 0)
	if err = ignoreError(ignoreError(err, syscall.EINVAL), syscall.EBUSY); err != nil {
		return fmt.Errorf("unmount %s: %w", netnsFolder, err)
	}
	return nil
}
