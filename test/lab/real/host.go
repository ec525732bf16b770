package real

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// cniFolder is where Debian's containernetworking-plugins are.
const cniFolder = "/usr/lib/cni"

// needs are the programs that real machines are made of, and the Debian packages that have them.
var needs = []struct{ program, pkg string }{
	{"containerd", "containerd"}, {"ctr", "containerd"}, {"runc", "runc"}, {"nft", "nftables"}, {"iptables", "iptables"},
	{"conntrack", "conntrack"}, {"ethtool", "ethtool"}, {"ipmi_sim", "openipmi"}, {"ip", "iproute2"}, {"nsenter", "util-linux"},
	{"unshare", "util-linux"}, {cniFolder + "/bridge", "containernetworking-plugins"},
}

// path is the search path of all programs, with those of root.
func path() string { return os.Getenv("PATH") + ":/usr/sbin:/sbin" }

// find returns the path of a program, or its name if there is none.
func find(program string) string {
	if filepath.IsAbs(program) {
		return program
	}
	for _, folder := range filepath.SplitList(path()) {
		at := filepath.Join(folder, program)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return program
}

// Check tells what this machine lacks for real machines.
func Check() error {
	if os.Getuid() != 0 {
		return errors.New("real machines need root: they are namespaces and cgroups")
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("real machines need programs that are not installed: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, needed := range []string{"freezer", "memory", "cpu", "cpuset", "pids", "devices"} {
		if !slices.ContainsFunc(all, func(h hierarchy) bool { return h.has(needed) }) {
			return fmt.Errorf("real machines need cgroup v1, and its hierarchy %q is not mounted: boot with systemd.unified_cgroup_hierarchy=0", needed)
		}
	}
	return nil
}

func missingPackages() (missing []string) {
	for _, n := range needs {
		if info, err := os.Stat(find(n.program)); (err != nil || info.IsDir()) && !slices.Contains(missing, n.pkg) {
			missing = append(missing, n.pkg)
		}
	}
	return missing
}

// call runs a program with an input, and returns its output in the error if it fails.
func call(ctx context.Context, input, program string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, find(program), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}
