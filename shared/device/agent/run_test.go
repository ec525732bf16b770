//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/nodefence/nodefence/shared/device"
	"github.com/nodefence/nodefence/shared/device/agent/supervisor"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(fencer); path != "" {
		ctx, cancel := context.WithTimeout(context.Background(), limit())
		defer cancel()
		_, err := run(ctx, job{Path: path})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if port := os.Getenv(fencerAt); port != "" {
		fmt.Fprintln(os.Stderr, fenceAt(port))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fencer names an agent that this binary runs, as nodefence would, and during which it is killed.
const fencer = "TEST_FENCER"

// fencerAt names the port of a BMC that it switches off, in the same way.
const fencerAt = "TEST_FENCER_AT"

// fencerLimit is its time; a minute if it is not set.
const fencerLimit = "TEST_FENCER_LIMIT"

func limit() time.Duration {
	if d, err := time.ParseDuration(os.Getenv(fencerLimit)); err == nil {
		return d
	}
	return time.Minute
}

// program writes a shell script and gives its path.
func program(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fence_test")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	// If this machine does not allow it anyway, the test shows nothing.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 4096, Max: 4096})
	for name, tc := range map[string]struct {
		lines []string
		args  []string
		want  outcome
	}{
		"what it says, and how it ends": {
			lines: []string{"echo Status: OFF", "echo because >&2", "exit 2"},
			want:  outcome{Code: 2, Stdout: text{Data: []byte("Status: OFF\n")}, Stderr: text{Data: []byte("because\n")}}},
		"its input, and nothing as an argument": {
			lines: []string{"cat", "echo $# $*"},
			want:  outcome{Stdout: text{Data: []byte("ip=10.0.0.7\npassword=x\n0\n")}}},
		"the arguments for its metadata": {
			lines: []string{"echo $*"}, args: []string{"-o", "metadata"}, want: outcome{Stdout: text{Data: []byte("-o metadata\n")}}},
		"nothing of this program's environment": {
			lines: []string{"env | sort"},
			want:  outcome{Stdout: text{Data: []byte("HOME=/nonexistent\nLANG=C.UTF-8\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/\nPYTHONDONTWRITEBYTECODE=1\n")}}},
		"no core dumps, which would have the secrets": {
			lines: []string{"ulimit -c"}, want: outcome{Stdout: text{Data: []byte("0\n")}}},
		"not the supervisor's timer": {
			lines: []string{"readlink /proc/$$/fd/3", "true"}, want: outcome{}},
		"a signal is no exit": {
			lines: []string{"kill -9 $$"}, want: outcome{Code: -1}},
		"output without end costs no memory": {
			lines: []string{"yes | head -c 4000000", "yes no | head -c 4000000 >&2"},
			want: outcome{
				Stdout: text{Data: bytes.Repeat([]byte("y\n"), supervisor.MaxStdout/2), Cut: true},
				Stderr: text{Data: bytes.Repeat([]byte("no\n"), supervisor.MaxStderr/3+1)[:supervisor.MaxStderr], Cut: true}}},
		"input that nobody reads": {
			lines: []string{"exec <&-", "exit 3"}, want: outcome{Code: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SECRET", "hunter-2")
			got, err := run(t.Context(), job{Path: program(t, tc.lines...), Args: tc.args, Input: []byte("ip=10.0.0.7\npassword=x\n")})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAnAgentHasItsCallersTime, however long that is: only one without a limit gets ours.
func TestAnAgentHasItsCallersTime(t *testing.T) {
	for name, c := range map[string]struct {
		given, claim time.Duration
		from, to     time.Duration
	}{
		"a usual call":                        {20 * time.Second, time.Minute, 10 * time.Second, 20 * time.Second},
		"the longest call":                    {2 * time.Minute, 2 * time.Minute, 110 * time.Second, 2 * time.Minute},
		"no limit":                            {0, 0, 50 * time.Second, time.Minute},
		"the machine slept since it began":    {2 * time.Minute, 40 * time.Second, 30 * time.Second, 40 * time.Second},
		"the claim ended while it was asleep": {2 * time.Minute, -time.Second, 0, time.Second},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.given > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), c.given)
		}
		if c.claim != 0 {
			ctx = device.Timely(ctx, func() time.Duration { return c.claim })
		}
		f, err := alarm(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var rings unix.ItimerSpec
		if err := unix.TimerfdGettime(int(f.Fd()), &rings); err != nil {
			t.Fatal(err)
		}
		if left := time.Duration(rings.Value.Nano()); left < c.from || left >= c.to {
			t.Errorf("%s: the agent is ended after %s, want %s to %s", name, left, c.from, c.to)
		}
		_ = f.Close()
		cancel()
	}
}

func TestRunRefuses(t *testing.T) {
	o, err := run(t.Context(), job{Path: "/nowhere/fence_test"})
	if want := (outcome{Err: "no such file or directory"}); err != nil || !cmp.Equal(o, want, cmpopts.EquateEmpty()) {
		t.Errorf("%+v, %v", o, err)
	}
}

// late are agents that would switch something some seconds after they are told to end, or after
// they seem to have ended. The file that they have open tells when the last of them is gone.
var late = map[string][]string{
	"it hangs":            {"sleep 9", "echo off >&9"},
	"it ignores requests": {"trap '' TERM INT HUP", "sleep 9", "echo off >&9"},
	"its child is in a session of its own, and its parent gone": {
		"setsid sh -c 'trap \"\" TERM; (sleep 9; echo off >&9) & echo $! >/dev/null' &", "sleep 60"},
	"it starts one after the other": {
		"(while true; do setsid sh -c 'sleep 9; echo off >&9' & sleep 0.01; done) &", "sleep 60"},
}

// device is a FIFO that the agent writes its commands to.
type fifo struct {
	path string
	*os.File
}

func newFIFO(t *testing.T) fifo {
	t.Helper()
	path := filepath.Join(t.TempDir(), "device")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return fifo{path: path, File: f}
}

// open makes it what the agent writes to, and says there that it runs.
func (f fifo) open() []string { return []string{"exec 9>>" + f.path, "echo on >&9"} }

// begin waits until the agent runs.
func (f fifo) begin(t *testing.T) {
	t.Helper()
	b := make([]byte, len("on\n"))
	for end := time.Now().Add(time.Minute); ; {
		n, err := f.Read(b)
		if string(b[:n]) == "on\n" {
			return
		}
		if err != io.EOF || time.Now().After(end) {
			t.Fatalf("the agent did not begin: %q, %v", b[:n], err)
		}
	}
}

// rest is what comes until there is no process any more that could send something.
func (f fifo) rest(t *testing.T) string {
	t.Helper()
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal("somebody is still there: ", err)
	}
	return string(all)
}

func TestNothingIsSentAfterTheDeadline(t *testing.T) {
	for name, lines := range late {
		t.Run(name, func(t *testing.T) {
			device := newFIFO(t)
			path := program(t, append(device.open(), lines...)...)
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			defer cancel()
			o, err := run(ctx, job{Path: path})
			if err == nil && !o.Late {
				t.Errorf("it ended by itself: %+v", o)
			}
			if got := strings.TrimPrefix(device.rest(t), "on\n"); got != "" {
				t.Errorf("the device was told %q", got)
			}
		})
	}
}

func TestNothingIsSentAfterACancel(t *testing.T) {
	for name, lines := range late {
		t.Run(name, func(t *testing.T) {
			device := newFIFO(t)
			path := program(t, append(device.open(), lines...)...)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { device.begin(t); cancel() }()
			if _, err := run(ctx, job{Path: path}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if got := device.rest(t); got != "" {
				t.Errorf("the device was told %q", got)
			}
		})
	}
}

// TestNothingIsSentAfterAnEnd: an agent that has ended has no process left that acts.
func TestNothingIsSentAfterAnEnd(t *testing.T) {
	device := newFIFO(t)
	path := program(t, append(device.open(), "setsid sh -c 'sleep 9; echo off >&9' & exit 0")...)
	o, err := run(t.Context(), job{Path: path})
	if err != nil || !cmp.Equal(o, outcome{}, cmpopts.EquateEmpty()) {
		t.Errorf("%+v, %v", o, err)
	}
	if got := device.rest(t); got != "on\n" {
		t.Errorf("the device was told %q", got)
	}
}

// TestNothingIsSentAfterAKill: the process that runs the agent is killed, and can't end the agent
// any more (S10).
func TestNothingIsSentAfterAKill(t *testing.T) {
	for name, lines := range late {
		t.Run(name, func(t *testing.T) {
			device := newFIFO(t)
			path := program(t, append(device.open(), lines...)...)
			cmd := fencerProcess(t, fencer+"="+path)
			device.begin(t)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it says that it was killed
			if got := device.rest(t); got != "" {
				t.Errorf("the device was told %q", got)
			}
		})
	}
}

// TestNothingIsSentAfterTheDeadlineOfOneWhoSleeps: the process that runs the agent is itself
// stopped, so that only the supervisor sees that the time is over.
func TestNothingIsSentAfterTheDeadlineOfOneWhoSleeps(t *testing.T) {
	device := newFIFO(t)
	path := program(t, append(device.open(), late["it ignores requests"]...)...)
	cmd := fencerProcess(t, fencer+"="+path, fencerLimit+"=3s")
	device.begin(t)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if got := device.rest(t); got != "" {
		t.Errorf("the device was told %q", got)
	}
}

// fencerProcess is this binary, running an agent.
func fencerProcess(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it says that it was killed
	})
	return cmd
}
