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

// needs are the programs of real machines, with their Debian packages.
var needs = []struct{ program, pkg string }{
	{"containerd", "containerd"}, {"ctr", "containerd"}, {"runc", "runc"}, {"nft", "nftables"}, {"iptables", "iptables"},
	{"conntrack", "conntrack"}, {"ethtool", "ethtool"}, {"ipmi_sim", "openipmi"}, {"ip", "iproute2"}, {"nsenter", "util-linux"},
	{"unshare", "util-linux"}, {cniFolder + "/bridge", "containernetworking-plugins"},
}

// searchPath has the folders into which Debian installs programs, with those of root.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// findProgram returns the path of a program, or the bare name of a program that is not installed.
func findProgram(program string) string {
	if filepath.IsAbs(program) {
		return program
	}
	for _, folder := range filepath.SplitList(searchPath) {
		at := filepath.Join(folder, program)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return program
}

// Check returns an error with the requirements that this machine does not meet.
func Check() error {
	if os.Getuid() != 0 {
		return errors.New("real machines need root: they are namespaces and cgroups")
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("real machines need programs that are not installed: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	all, err := listHierarchies()
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
		if info, err := os.Stat(findProgram(n.program)); (err != nil || info.IsDir()) && !slices.Contains(missing, n.pkg) {
			missing = append(missing, n.pkg)
		}
	}
	return missing
}

// runProgram runs a program with an input. The error has the program's output.
func runProgram(ctx context.Context, input, program string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, findProgram(program), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}
