package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nodefence/nodefence/test/lab/labdir"
	"github.com/nodefence/nodefence/test/lab/real"
)

// needReal skips a test unless make e2e-real runs it.
func needReal(t *testing.T) {
	t.Helper()
	if os.Getenv("NODEFENCE_REAL") == "" {
		t.Skip("real nodes need root and Debian packages: make e2e-real")
	}
	needLab(t)
}

// remains lists what a lab of real machines has on this machine, by its names.
func remains(t *testing.T, l real.Layout) (found []string) {
	t.Helper()
	for _, pattern := range []string{"/run/netns/" + l.ID + "*", "/sys/fs/cgroup/*/" + l.ID} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, is := a.(*net.IPNet); is && l.Network().Contains(n.IP) {
			found = append(found, n.String())
		}
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(raw), "/"+l.ID) {
			continue
		}
		if line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")); len(line) > 0 { // else it has ended
			found = append(found, path+" "+string(line))
		}
	}
	return found
}

// killParts kills the processes that a lab has recorded. Its machines and BMCs are not among these, and go on.
func killParts(t *testing.T, name string) real.Layout {
	t.Helper()
	dir, record, err := labdir.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range record.Processes {
		if err := syscall.Kill(p.ID.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	l := real.NewLayout(dir.Path)
	if len(remains(t, l)) == 0 {
		t.Fatal("nothing is left of a lab whose processes were killed: the test sees nothing")
	}
	return l
}

func TestRealMachinesLeaveNothing(t *testing.T) {
	needReal(t)
	lab(t, "up", "--real", "--nodes", "1", "--grace", "20s")
	l := killParts(t, "default")
	t.Cleanup(func() { _ = real.Clean(context.Background(), l) }) // what a failed test has left
	lab(t, "down")
	if left := remains(t, l); len(left) > 0 {
		t.Errorf("left after down: %q", left)
	}
}

func TestRealMachinesOfADeadLabMakeRoom(t *testing.T) {
	needReal(t)
	lab(t, "up", "--real", "--nodes", "1", "--grace", "20s")
	l := killParts(t, "default")
	t.Cleanup(func() { _ = real.Clean(context.Background(), l) })
	lab(t, "up", "--nodes", "0")
	if left := remains(t, l); len(left) > 0 {
		t.Errorf("left when a lab of that name is up again: %q", left)
	}
	lab(t, "down")
}
