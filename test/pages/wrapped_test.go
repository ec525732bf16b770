package pages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wrapped runs a program of test/e2e/testdata/pages. In place of the lab, and of curl, stands a shell
// that says what it was called with, and what came in. Its exit code is that of the run.
func wrapped(t *testing.T, program, input, stand string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "stand")
	if err := os.WriteFile(file, []byte("#!/bin/bash\n"+stand+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "test/e2e/testdata/pages", program), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LAB_PATH=" + os.Getenv("PATH"), "LAB_HOME=" + dir, "LAB=" + file, "CURL=" + file, "SAID=" + filepath.Join(dir, "said")}
	cmd.Stdin = strings.NewReader(input)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, said)
	}
	return strings.TrimSpace(string(said))
}

// TestKubectlOfThePages: TestPages of test/e2e has each verb and each flag of a page's kubectl looked at by
// the real one. A verb that may change something is refused, and so is a failure that is no answer.
func TestKubectlOfThePages(t *testing.T) {
	const echo = `shift; echo "$*"; cat`
	const other = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-another-program"}}`
	for _, c := range []struct {
		args, input, stand, want string
	}{
		{"-n x get pods", "", echo, "-n x get pods"},
		{"apply --server-side -f nodefence-crd.yaml", "", echo, "apply --server-side -f - --force-conflicts --dry-run=server\n" + other},
		{"aply -f nodefence-crd.yaml", "", echo, "exit status 1: kubectl aply: the test does not know what it changes; see test/e2e/testdata/pages/kubectl\n"},
		{"apply -f - --frce", "", `echo "$*" >&2; exit 3`, "exit status 3: kubectl apply -f - --frce --dry-run=server\n"},
		{"apply -f -", "", echo, "apply -f - --dry-run=server\n" + other},
		{"apply -f -", "kind: Node", echo, "apply -f - --dry-run=server\nkind: Node"},
		{"auth can-i list pods", "", `echo no; exit 1`, "no"},
		{"auth can-i list pods", "", `echo "no - why"; exit 1`, "no - why"},
		{"auth can-i list pods", "", `echo nothing; exit 1`, "exit status 1: nothing\n"},
		{"auth can-i --lst", "", `echo "unknown flag" >&2; exit 1`, "exit status 1: unknown flag\n\n"},
		{"auth can-i list pods", "", `echo no; exit 2`, "exit status 1: no\n"},
		{"auth whoami", "", `echo anna`, "anna"},
		{"kustomize .", "", echo, "kustomize ."},
		{"drain worker-7", "", echo, "exit status 1: kubectl drain: the test does not know what it changes; see test/e2e/testdata/pages/kubectl\n"},
		{"-n x rollout status deployment/y", "", echo, "-n x rollout status deployment/y"},
		{"rollout restart deployment/y", "", echo, "get deployment/y --ignore-not-found"},
		{"rollout undo deployment/y", "", echo, "exit status 1: kubectl rollout: only status changes nothing\n"},
		{"create configmap x --from-file=triggers.yaml", "", echo, "create configmap x --from-literal=triggers.yaml=x --dry-run=server"},
	} {
		if got := wrapped(t, "kubectl", c.input, c.stand, strings.Fields(c.args)...); got != c.want {
			t.Errorf("kubectl %s: %q, want %q", c.args, got, c.want)
		}
	}
}

// TestCurlOfThePages: TestPages sends to this machine, and to no other.
func TestCurlOfThePages(t *testing.T) {
	const here = "http://127.0.0.1:4711"
	for _, c := range []struct {
		args []string
		sent bool
	}{
		{[]string{"-fsS", here, "-H", "ce-source: http://example.com", "-d", "x"}, true},
		{[]string{here + "/a"}, true},
		{[]string{"http://example.com"}, false},
		{[]string{"example.com"}, false},
		{[]string{here + "@example.com"}, false},
		{[]string{"http://127.0.0.1.example.com:80"}, false},
		{[]string{here, "http://example.com"}, false},
		{[]string{"-fsS", "-d", here}, false},
	} {
		got := wrapped(t, "curl", "", `echo sent`, c.args...)
		if (got == "sent") != c.sent || !c.sent && !slices.Contains([]bool{strings.Contains(got, "nothing to other machines"), strings.Contains(got, "no address")}, true) {
			t.Errorf("curl %s: %q, to be sent: %v", c.args, got, c.sent)
		}
	}
}
