package plane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nodefence/nodefence/test/lab/filelock"
	"github.com/nodefence/nodefence/test/rig"
)

// sourcePath is the module that says which Knative is built, and with which libraries.
const sourcePath = "test/e2e/knative/dataplane"

const progressPeriod = 10 * time.Second

// parallel compilers are few: whoever tests usually has something else running.
const parallel = "2"

// build returns the folder with Knative's programs, and compiles them first if
// they aren't in the cache. Builders of the same ones wait for each other.
func build(ctx context.Context, progress io.Writer) (string, error) {
	source, err := source()
	if err != nil {
		return "", err
	}
	cache, err := cacheDir(ctx, source)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "bin")
	if built(dir) {
		return dir, nil
	}
	release, err := filelock.Take(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return "", fmt.Errorf("wait for another build of Knative: %w", err)
	}
	defer release()
	if built(dir) {
		return dir, nil
	}
	stop := report(progress, "building Knative's programs: needed once, takes 8 minutes or so on two idle cores")
	defer stop()
	return dir, compile(ctx, source, dir)
}

func source() (string, error) {
	root, err := rig.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, sourcePath), nil
}

// cacheDir is named by all that goes into the build, so that what lies there is
// never stale.
func cacheDir(ctx context.Context, source string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	platform, err := ask(ctx, source, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%q\n", platform, buildArgs("out"))
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("hash Knative's module: %w", err)
		}
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(content))
	}
	dir := filepath.Join(base, "nodefence", "knative", hex.EncodeToString(sum.Sum(nil))[:16])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	return dir, nil
}

func built(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

func buildArgs(dir string) []string {
	args := []string{"build", "-p", parallel, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir + "/"}
	for _, p := range programs {
		args = append(args, p.source)
	}
	return args
}

func compile(ctx context.Context, source, dir string) error {
	// The folder appears by a rename, so what lies there is whole. Under the
	// lock nobody else uses the unfinished one.
	unfinished := dir + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove unfinished build: %w", err)
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return fmt.Errorf("make folder for Knative's programs: %w", err)
	}
	defer func() { _ = os.RemoveAll(unfinished) }()
	var output bytes.Buffer
	cmd := goCommand(ctx, source, buildArgs(unfinished)...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build Knative's programs: %w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return fmt.Errorf("keep Knative's programs: %w", err)
	}
	return nil
}

// goCommand runs Go in a folder with the folder's module only: a workspace or
// flags of the user's would build something else than the cache key says.
func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	// The compilers are children of go: an interrupt must end them too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func ask(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := goCommand(ctx, dir, args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// report says what takes so long, now and then, until the returned function is called.
func report(w io.Writer, what string) (stop func()) {
	begin, end := time.Now(), make(chan struct{})
	fmt.Fprintln(w, what)
	go func() {
		tick := time.NewTicker(progressPeriod)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "  still building, %s so far\n", time.Since(begin).Round(time.Second))
			case <-end:
				return
			}
		}
	}()
	return func() { close(end) }
}
