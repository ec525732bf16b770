package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodefence/nodefence/test/rig"
)

// trial is the README's block for new users, which they paste unchanged.
func trial(t *testing.T) (root, script string) {
	t.Helper()
	root, err := rig.Root()
	must(t, err)
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	must(t, err)
	blocks := strings.Split(string(page), "```bash\n")
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of bash, want one", len(blocks)-1)
	}
	script, _, _ = strings.Cut(blocks[1], "```")
	return root, script
}

// runTrial runs a script as a shell that a block is pasted into does, in a process group that
// ends with the test, and returns its output and the name of its lab.
func runTrial(t *testing.T, root, script string) (said, lab string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail")
	cmd.Dir, cmd.Stdin = root, strings.NewReader(script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if m := regexp.MustCompile(`lab "(trial-\d+)" is up`).FindStringSubmatch(out.String()); m != nil {
		lab = m[1]
	}
	return out.String(), lab, err
}

// nothingLeft checks that nothing is left of the lab.
func nothingLeft(t *testing.T, root, lab string) {
	t.Helper()
	if lab == "" {
		t.Fatal("no lab came up")
	}
	labs, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin/nodefence-lab"), "list").Output()
	must(t, err)
	if strings.Contains(string(labs), lab+" ") {
		t.Errorf("%s is left behind:\n%s", lab, labs)
	}
}

// TestTheTrial runs the README's block unchanged.
func TestTheTrial(t *testing.T) {
	root, script := trial(t)
	said, lab, err := runTrial(t, root, script)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if verdict := lines[len(lines)-1]; err != nil || !strings.HasPrefix(verdict, "verdict: db-0 moved from ") {
		t.Errorf("%v\n%s", err, said)
	}
	for _, want := range []string{"would begin; policy workers (generation 1) is in DryRun", "no volume ever had two writers"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	nothingLeft(t, root, lab)
}

// TestATrialThatFails: a trial that fails ends its lab, gives no verdict, and exits with an error.
func TestATrialThatFails(t *testing.T) {
	root, script := trial(t)
	const step = "kubectl apply -k infra/namespaces\n"
	if !strings.Contains(script, step) {
		t.Fatalf("the block has no %q", step)
	}
	said, lab, err := runTrial(t, root, strings.Replace(script, step, "kubectl apply -k infra/no-such-folder\n", 1))
	if err == nil || strings.Contains(said, "verdict:") {
		t.Errorf("%v\n%s", err, said)
	}
	nothingLeft(t, root, lab)
}
