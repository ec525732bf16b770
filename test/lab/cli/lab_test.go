package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodefence/nodefence/test/lab/await"
	"github.com/nodefence/nodefence/test/lab/kubebuild"
	"github.com/nodefence/nodefence/test/lab/labdir"
)

// beTheCommand turns this test's executable into nodefence-lab, which has to be
// a process of its own to be interrupted or to be started by itself.
const beTheCommand = "NODEFENCE_LAB_BE_THE_COMMAND"

// testHost is the machine of the tests.
var testHost = Host{Now: time.Now, Getenv: os.Getenv}

func TestMain(m *testing.M) {
	if os.Getenv(beTheCommand) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args[1:], testHost, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func labCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), beTheCommand+"=1")
	return cmd
}

// lab runs a command that must succeed, and returns what it printed.
func lab(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := labCommand(t, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.Bytes())
	}
	return stdout.String()
}

// needLab skips a test if the lab would first have to be built, which takes longer than a test
// may.
func needLab(t *testing.T) (root string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	cached, err := kubebuild.Cached(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !cached {
		t.Skip("run \"nodefence-lab build\" first")
	}
	root = privateRoot(t)
	t.Cleanup(func() { nothingLeft(t, root) })
	return root
}

// nothingLeft ends what a failed test has left, and reports it.
func nothingLeft(t *testing.T, root string) {
	if left, _ := filepath.Glob(filepath.Join(root, "*", "[^.]*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
		cmd := exec.Command(os.Args[0], "down", "--all")
		cmd.Env = append(os.Environ(), beTheCommand+"=1", "XDG_RUNTIME_DIR="+root)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("clean up: %v: %s", err, out)
		}
	}
	if left := processesOf(root); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// processesOf finds processes by their arguments and not by our own records, so that it also
// finds one that we did not record.
func processesOf(root string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(root)) {
			found = append(found, string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '})))
		}
	}
	return found
}

func TestLabUpDown(t *testing.T) {
	root := needLab(t)
	var wg sync.WaitGroup
	kubeconfigs := make([]string, 2)
	for i, name := range []string{"one", "two"} {
		wg.Go(func() {
			out, err := labCommand(t, "up", "--nodes", "2", "--name", name).Output()
			if err != nil {
				t.Errorf("up: %v", err)
			}
			kubeconfigs[i] = string(out)
		})
	}
	wg.Wait()
	for _, path := range kubeconfigs {
		if !strings.HasPrefix(path, root) || strings.Count(path, "\n") != 1 {
			t.Fatalf("stdout isn't just the path of a kubeconfig: %q", path)
		}
	}
	if status := lab(t, "status", "--name", "one"); !strings.Contains(status, "node-1") {
		t.Errorf("status:\n%s", status)
	}
	again, _ := labCommand(t, "up", "--name", "one").CombinedOutput()
	if !strings.Contains(string(again), "already running") {
		t.Errorf("a second \"up\": %s", again)
	}

	lab(t, "down", "--name", "one")
	if list := lab(t, "list"); strings.Contains(list, "one") || !strings.Contains(list, "two") {
		t.Errorf("list:\n%s", list)
	}
	lab(t, "status", "--name", "two")
	lab(t, "down", "--all")
}

func TestStatusSaysThatTheControlPlaneDied(t *testing.T) {
	root := needLab(t)
	lab(t, "up", "--nodes", "0")
	dir, record, err := labdir.Open("default")
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Processes[0].ID.End(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	out, err := labCommand(t, "status").Output()
	if err == nil || !strings.Contains(string(out), "control-plane (process") {
		t.Errorf("status in %s: %v\n%s", root, err, out)
	}
	// The name is free again, and what is left in the folder is no hindrance.
	lab(t, "up", "--nodes", "0")
	lab(t, "down")
	if _, err := os.Stat(dir.Path); err == nil {
		t.Error("the folder is still there")
	}
}

func TestAnInterruptedUpLeavesNothing(t *testing.T) {
	for name, sig := range map[string]os.Signal{"Ctrl-C": os.Interrupt, "killed, then down": os.Kill} {
		t.Run(name, func(t *testing.T) {
			needLab(t)
			up := labCommand(t, "up", "--nodes", "0")
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
			await.That(t, "the control plane's start", func() bool {
				_, record, err := labdir.Open("default")
				return err == nil && len(record.Processes) > 0
			})
			if err := up.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := up.Wait(); err == nil {
				t.Error("an interrupted \"up\" succeeded")
			}
			if sig == os.Kill {
				lab(t, "down")
			}
		})
	}
}
