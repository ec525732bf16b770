package kubebuild

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nodefence/nodefence/test/lab/await"
	"github.com/nodefence/nodefence/test/lab/process"
)

// fakeGo takes the place of Go's command. It counts the builds that it does.
const fakeGo = `#!/bin/sh
if [ "$1" = env ]; then echo "$FAKE_GO_VERSION"; exit; fi
case "$*" in *version.gitVersion=v1.31.0*) ;; *) echo "no version in $*"; exit 1 ;; esac
echo build >> "$FAKE_GO_LOG"
[ -z "$FAKE_GO_HANG" ] || { sleep 600 & echo $! > "$FAKE_GO_HANG.new"; mv "$FAKE_GO_HANG.new" "$FAKE_GO_HANG"; wait; }
[ -z "$FAKE_GO_FAIL" ] || { echo "main.go:1: $FAKE_GO_FAIL"; exit 1; }
while [ "$1" != -o ]; do shift; done
echo built > "$2"
`

func prepare(t *testing.T) (source, log string) {
	t.Helper()
	bin, source := t.TempDir(), t.TempDir()
	log = filepath.Join(bin, "log")
	write(t, filepath.Join(bin, "go"), fakeGo, 0o700)
	write(t, filepath.Join(source, "go.mod"), "require k8s.io/kubernetes v1.31.0\n", 0o600)
	for _, name := range []string{"go.sum", "main.go"} {
		write(t, filepath.Join(source, name), name, 0o600)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FAKE_GO_LOG", log)
	t.Setenv("FAKE_GO_VERSION", "go1")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(SourceVariable, source)
	return source, log
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestParallelBuildersBuildOnce(t *testing.T) {
	_, log := prepare(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			path, err := Ensure(t.Context(), io.Discard)
			if err != nil {
				t.Error(err)
				return
			}
			if raw, err := os.ReadFile(path); err != nil || string(raw) != "built\n" {
				t.Errorf("got %q, %v", raw, err)
			}
		})
	}
	wg.Wait()
	if raw, _ := os.ReadFile(log); string(raw) != "build\n" {
		t.Errorf("builds: %q", raw)
	}
}

func TestKubectlIsBuiltBesideTheControlPlane(t *testing.T) {
	source, log := prepare(t)
	module := filepath.Join(filepath.Dir(source), "kubectl")
	if err := os.MkdirAll(module, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(module, "go.mod"), "require k8s.io/kubectl v0.31.0\n", 0o600)
	for _, name := range []string{"go.sum", "main.go"} {
		write(t, filepath.Join(module, name), "kubectl's "+name, 0o600)
	}
	kube, err := Ensure(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		kubectl, err := EnsureKubectl(t.Context(), io.Discard)
		if err != nil || filepath.Base(kubectl) != "kubectl" || filepath.Dir(kubectl) == filepath.Dir(kube) {
			t.Errorf("%s beside %s: %v", kubectl, kube, err)
		}
	}
	if raw, _ := os.ReadFile(log); string(raw) != "build\nbuild\n" {
		t.Errorf("builds: %q", raw)
	}
}

func TestAFailedBuildSaysWhyAndLeavesNothingToUse(t *testing.T) {
	_, log := prepare(t)
	t.Setenv("FAKE_GO_FAIL", "undefined: x")
	var progress bytes.Buffer
	if _, err := Ensure(t.Context(), &progress); err == nil || !strings.Contains(err.Error(), "undefined: x") {
		t.Fatalf("error: %v", err)
	}
	if !strings.Contains(progress.String(), "needed once") {
		t.Errorf("progress: %q", progress.String())
	}
	t.Setenv("FAKE_GO_FAIL", "")
	if _, err := Ensure(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(log); string(raw) != "build\nbuild\n" {
		t.Errorf("builds: %q", raw)
	}
}

func TestAnInterruptedBuildEndsItsCompilersToo(t *testing.T) {
	source, _ := prepare(t)
	pidFile := filepath.Join(t.TempDir(), "pid")
	t.Setenv("FAKE_GO_HANG", pidFile)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Ensure(ctx, io.Discard)
		done <- err
	}()
	var compiler process.ID
	await.That(t, "the compiler", func() bool {
		raw, err := os.ReadFile(pidFile)
		if err != nil {
			return false
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
		compiler, err = process.Identify(pid)
		return err == nil
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	await.That(t, "the compiler's end", func() bool { return !compiler.Alive() })
	dir, err := controlPlane(source).cacheDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "kube*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWhatGoesIntoTheBuildGoesIntoTheKey(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, source string)
		differ bool
	}{
		"nothing changed": {change: func(*testing.T, string) {}},
		"a test changed": {change: func(t *testing.T, source string) {
			write(t, filepath.Join(source, "main_test.go"), "new", 0o600)
		}},
		"a file changed": {differ: true, change: func(t *testing.T, source string) {
			write(t, filepath.Join(source, "main.go"), "new", 0o600)
		}},
		"a file was added": {differ: true, change: func(t *testing.T, source string) {
			write(t, filepath.Join(source, "more.go"), "new", 0o600)
		}},
		"a sum changed": {differ: true, change: func(t *testing.T, source string) {
			write(t, filepath.Join(source, "go.sum"), "new", 0o600)
		}},
		"another version of Go": {differ: true, change: func(t *testing.T, _ string) {
			t.Setenv("FAKE_GO_VERSION", "go2")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			source, _ := prepare(t)
			before, err := controlPlane(source).key(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tc.change(t, source)
			after, err := controlPlane(source).key(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (before != after) != tc.differ {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
}

func TestFindSource(t *testing.T) {
	root := t.TempDir()
	module := filepath.Join(root, modulePath)
	if err := os.MkdirAll(module, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(module, "go.mod"), "module x\n", 0o600)
	for name, tc := range map[string]struct {
		start string
		found bool
	}{
		"the root itself": {root, true},
		"deep below":      {filepath.Join(root, "bin", "x"), true},
		"elsewhere":       {t.TempDir(), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := findAbove(tc.start)
			if found != tc.found || (found && got != module) {
				t.Errorf("got %s, %v", got, found)
			}
		})
	}
	t.Run("the variable leads nowhere", func(t *testing.T) {
		t.Setenv(SourceVariable, root)
		if _, err := FindSource(); err == nil || !strings.Contains(err.Error(), SourceVariable) {
			t.Errorf("error: %v", err)
		}
	})
}
