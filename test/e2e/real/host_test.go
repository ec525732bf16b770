package real

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// labID begins the names of what a lab of real machines makes on this machine.
const labID = "nflab-"

// host is what a lab could have left on this machine.
type host map[string][]string

func lookAtHost(t *testing.T) host {
	t.Helper()
	h := host{}
	for kind, look := range map[string]func() ([]string, error){
		"network namespaces": listNetns, "interfaces": listInterfaces, "mounts": listMounts, "cgroups": listCgroups, "processes": listProcesses,
	} {
		found, err := look()
		must(t, err)
		h[kind] = found
	}
	return h
}

// compare fails the test if this machine has more now.
func (h host) compare(t *testing.T) {
	t.Helper()
	for kind, now := range lookAtHost(t) {
		for _, one := range now {
			if !slices.Contains(h[kind], one) {
				t.Errorf("left among the %s: %s", kind, one)
			}
		}
	}
}

func listNetns() ([]string, error) { return filepath.Glob("/run/netns/*") }

func listInterfaces() (names []string, err error) {
	all, err := net.Interfaces()
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names, err
}

func listMounts() (at []string, err error) {
	raw, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(raw)) {
		at = append(at, strings.Fields(line)[1])
	}
	return at, err
}

func listCgroups() (found []string, err error) {
	err = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Contains(path, "/"+labID) {
			found = append(found, path)
		}
		return nil // others remove theirs while we look
	})
	return found, err
}

// listProcesses returns the arguments of the processes in a lab's cgroups.
func listProcesses() (found []string, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(raw), "/"+labID) {
			continue
		}
		if arguments, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")); len(arguments) > 0 { // else it has ended
			found = append(found, path+" "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found, err
}
