package kubebuild

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nodefence/nodefence/test/lab/filelock"
)

// KubernetesVersion is what the executable says that it is. Without a stamp it
// would call itself v0.0.0, and clients that look at it would misbehave.
const KubernetesVersion = "v1.36.3"

const progressPeriod = 10 * time.Second

// Ensure returns the control plane's executable and builds it first if it
// isn't in the cache. Builders of the same one wait for each other.
func Ensure(ctx context.Context, progress io.Writer) (string, error) {
	source, err := FindSource()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(ctx, source)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kube")
	if built(path) {
		return path, nil
	}
	say := report(progress, "building the control plane (Kubernetes "+KubernetesVersion+"): needed once, takes 8 minutes or so on two idle cores")
	defer say()
	release, err := filelock.Take(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("wait for another build: %w", err)
	}
	defer release()
	if built(path) {
		return path, nil
	}
	return path, build(ctx, source, path)
}

// Cached says if Ensure would return at once.
func Cached(ctx context.Context) (bool, error) {
	source, err := FindSource()
	if err != nil {
		return false, err
	}
	dir, err := cacheDir(ctx, source)
	if err != nil {
		return false, err
	}
	return built(filepath.Join(dir, "kube")), nil
}

func cacheDir(ctx context.Context, source string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	name, err := key(ctx, source)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "nodefence", "lab", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	return dir, nil
}

func built(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func buildArgs(out string) []string {
	stamp := "-X k8s.io/component-base/version.gitVersion=" + KubernetesVersion
	return []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w " + stamp, "-o", out, "."}
}

func build(ctx context.Context, source, path string) error {
	// Under the lock there is no other builder, and a name of its own spares
	// us the remains of one that was killed: the next one overwrites them.
	unfinished := path + ".unfinished"
	defer os.Remove(unfinished)

	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", buildArgs(unfinished)...)
	cmd.Dir = source
	// A workspace or flags of the user's would build something else than the
	// cache key says.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	cmd.Stdout, cmd.Stderr = &output, &output
	endWithChildren(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build control plane: %w", ctx.Err())
		}
		return fmt.Errorf("build control plane: %w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("keep control plane: %w", err)
	}
	return nil
}

// endWithChildren makes an interrupted build stop at once: the compilers are
// children of go, and would go on with what they are at.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
}

// report says what takes so long, now and then, until the returned function is
// called.
func report(w io.Writer, what string) (done func()) {
	begin := time.Now()
	fmt.Fprintln(w, what)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(progressPeriod)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "  still building, %s so far\n", time.Since(begin).Round(time.Second))
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
