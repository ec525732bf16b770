//go:build linux

package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodefence/nodefence/shared/device"
)

// installed is the folder in which Debian has the agents.
const installed = "/usr/sbin"

// needs skips a test if this machine lacks one of these programs.
func needs(t testing.TB, pkg string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is missing: apt-get install %s", p, pkg)
		}
	}
}

// begin starts a server that ends with t.
func begin(t testing.TB, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error says that it was killed
	})
	return cmd.Process.Pid
}

func open(t testing.TB, agent string, params map[string]string) device.Driver {
	t.Helper()
	k, err := Kind(agent, installed)
	if err != nil {
		t.Fatal(err)
	}
	d, err := k.Open(params)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// says waits until a state can be read: servers take a moment to start.
func says(t testing.TB, d device.Driver, want device.Power) {
	t.Helper()
	var r device.Reading
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if r, err = d.State(t.Context()); err == nil {
			break
		}
	}
	if err != nil || r != (device.Reading{Power: want}) {
		t.Errorf("state is %+v, %v, want %s", r, err, want)
	}
}

// running are the processes with these words in their command line.
func running(words ...string) []string {
	var pids []string
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		line, _ := os.ReadFile(path) // it may have ended
		args := strings.Split(string(line), "\x00")
		if !slices.ContainsFunc(words, func(w string) bool { return !hasPart(args, w) }) {
			pids = append(pids, strings.Split(path, "/")[2])
		}
	}
	return pids
}

// hasPart finds a program with or without its folder, and an argument as it is.
func hasPart(args []string, w string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == w || strings.HasSuffix(a, "/"+w) })
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to be that ", what)
		}
	}
}
