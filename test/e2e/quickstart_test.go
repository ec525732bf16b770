package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nodefence/nodefence/test/rig"
)

// quickStart are the README's commands for a cluster, in a folder with a release.
type quickStart struct {
	*world
	commands []string
	dist     string
	// bin has helm, kubectl and the plugin, as a user's PATH does.
	bin string
}

// quickStart makes a release and reads the README.
func (w *world) quickStart() *quickStart {
	w.t.Helper()
	q := &quickStart{world: w, dist: w.t.TempDir(), bin: w.t.TempDir()}
	page, err := os.ReadFile(filepath.Join(w.root(), "README.md"))
	must(w.t, err)
	_, section, _ := strings.Cut(string(page), "\n## In a cluster of yours\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if command, is := strings.CutPrefix(line, "    "); is {
			q.commands = append(q.commands, strings.TrimSpace(command))
		}
	}
	if len(q.commands) != 3 {
		w.t.Fatalf("the README's commands for a cluster are %q, want three", q.commands)
	}
	w.inRelease("run", ".", "-version", "v0.1.0", "-registry", "registry.example.com/nodefence", "-out", q.dist)
	helm := strings.TrimSpace(w.inRelease("tool", "-n", "helm"))
	lab, err := rig.Bin("nodefence-lab")
	must(w.t, err)
	plugin, err := rig.Bin("kubectl-fence")
	must(w.t, err)
	for name, text := range map[string]string{
		// The lab has nodefence's kinds and namespaces already, and its nodes start no container.
		"helm":          `exec ` + helm + ` "$@" --take-ownership --timeout 10m`,
		"kubectl":       `exec ` + lab + ` kubectl "$@"`,
		"kubectl-fence": `exec ` + plugin + ` "$@"`,
	} {
		must(w.t, os.WriteFile(filepath.Join(q.bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	return q
}

// run runs one of the commands, and returns what it prints.
func (q *quickStart) run(i int) (said string, code int) {
	q.t.Helper()
	cmd := exec.CommandContext(q.ctx, "bash", "-euo", "pipefail", "-c", q.commands[i])
	cmd.Dir = q.dist
	cmd.Env = append(os.Environ(), "PATH="+q.bin+":"+os.Getenv("PATH"), "KUBECONFIG="+q.Lab.Kubeconfig, "HELM_DRIVER=secret")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		q.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// firstVerdict runs the commands after the installation: each node has a verdict of a policy that does nothing.
func (w *world) firstVerdict(q *quickStart) {
	w.t.Helper()
	must(w.t, w.Kube.CoreV1().RESTClient().Delete().AbsPath("/apis/nodefence.io/v1alpha1/fencepolicies/default").Do(w.ctx).Error())
	if said, code := q.run(1); code != 0 {
		w.t.Errorf("%s: exit code %d, %s", q.commands[1], code, said)
	}
	said, code := q.run(2)
	for _, node := range []string{node(0), node(1), node(2)} {
		if !strings.Contains(said, node+" ") || !strings.Contains(said, "metal") || code != 0 {
			w.t.Errorf("%s: exit code %d, no verdict for %s by the policy: %s", q.commands[2], code, node, said)
		}
	}
}
